"""What a command says and where: progress and messages on stderr, results on stdout.

Text from platforms and workspaces is data. Nothing here is read as markup, and ``clean`` takes out what could
move the cursor, so whatever a message quotes can be said as it is.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

import structlog
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

_PIPE_WIDTH = 160
"""Width matters to tables alone; a file or a pipe has none, so give them room."""

_LEAST_COLUMN = 8
"""A column may be folded to so many characters; a terminal too narrow for that gets one line per cell."""

progress = Console(stderr=True, highlight=False, markup=False)
results = Console(
    highlight=False, markup=False, width=None if sys.stdout and sys.stdout.isatty() else _PIPE_WIDTH
)


def prepare_streams() -> None:
    """Where a stream cannot show a character it shows ``?``; warnings of what lies below go to stderr."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def silence() -> None:
    """Nothing goes to stdout any more: what it still holds could not be written either, and would be told."""
    with suppress(OSError, ValueError, AttributeError):  # none, closed, or not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def clean(text: object, limit: int = 2000) -> str:
    """Text of foreign origin, safe to show: no control characters, bounded length."""
    return "".join(
        " " if char in "\r\t" else char
        for char in str(text)[:limit]
        if char in "\n\r\t" or unicodedata.category(char)[0] != "C"
    )


def typed(name: str) -> str:
    """A name as a person can type it: what does not show, and how an accent is composed, does not count."""
    return " ".join(unicodedata.normalize("NFC", clean(name)).split())


def say(message: object, style: str = "") -> None:
    """Progress or advice, on stderr."""
    progress.print(Text(clean(message), style), soft_wrap=True)


def warn(message: object) -> None:
    say(message, "yellow")


def print_text(text: object = "", style: str = "", limit: int = 2000) -> None:
    """Text of a result, on stdout."""
    results.print(Text(clean(text, limit), style), soft_wrap=True)


def print_json(value: Mapping[str, Any], code: int = 0) -> None:
    """One JSON object on stdout, for scripts; nothing where there is no stdout (``>&-``).

    Args:
        code: what the command will exit with; it becomes ``exit_code`` in the object.
    """
    if sys.stdout is None:
        return
    sys.stdout.write(json.dumps({**value, "exit_code": code}, default=str) + "\n")
    sys.stdout.flush()


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table of results on stdout. Every cell is cleaned; None shows as a dash."""
    cells = [["-" if cell is None else clean(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(columns, *cells, strict=True)]
    gaps = len(widths) - 1
    if sum(min(width, _LEAST_COLUMN) for width in widths) + gaps > results.width:
        for row in cells:
            _print_grid(("", ""), zip(columns, row, strict=True), gap=2)
            results.print()
    else:
        _print_grid(columns, cells, gap=2 if sum(widths) + 2 * gaps <= results.width else 1)


def _print_grid(columns: Sequence[str], rows: Iterable[Sequence[str]], gap: int) -> None:
    grid = Table(
        box=None, show_header=any(columns), pad_edge=False, padding=(0, gap, 0, 0), header_style="bold"
    )
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    results.print(grid)


def seconds(value: float | None) -> str:
    """A duration as people read it: ``4.2 s``, ``3:05``, ``1:02:03``."""
    if value is None:
        return "-"
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def dollars(value: float | None) -> str:
    return "-" if value is None else f"${value:.4f}"


def score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
