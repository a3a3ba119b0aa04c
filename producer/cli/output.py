"""What a command says and where: progress and messages on stderr, results on stdout.

Text from platforms and workspaces is data. It passes ``clean`` before it reaches a terminal, so that it can
neither move the cursor nor pose as markup.
"""

from __future__ import annotations

import json
import logging
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import structlog
from rich.console import Console
from rich.markup import escape
from rich.table import Table

progress = Console(stderr=True, highlight=False)
results = Console(highlight=False, width=None if sys.stdout and sys.stdout.isatty() else 160)
"""Width matters to tables alone; a file or a pipe has none, so give them room."""


def logs_to_stderr() -> None:
    """Warnings of the libraries below go to stderr: stdout holds results alone."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def clean(text: object, limit: int = 2000) -> str:
    """Text of foreign origin, safe to show: no control characters, no markup, bounded length."""
    shown = "".join(
        " " if char in "\r\t" else char
        for char in str(text)[:limit]
        if char in "\n\r\t" or unicodedata.category(char)[0] != "C"
    )
    return escape(shown)


def say(message: str) -> None:
    """One line of progress or advice, on stderr."""
    progress.print(message, soft_wrap=True)


def warn(message: str) -> None:
    progress.print(f"[yellow]{message}[/yellow]", soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON object on stdout, for scripts; nothing where there is no stdout (``>&-``)."""
    if sys.stdout is None:
        return
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """A table of results on stdout. Every cell is cleaned; None shows as a dash."""
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*("-" if cell is None else clean(cell) for cell in row))
    results.print(shown)


def seconds(value: float | None) -> str:
    """A duration as people read it: ``4.2 s``, ``3:05``."""
    if value is None:
        return "-"
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes}:{rest:02d}"


def dollars(value: float | None) -> str:
    return "-" if value is None else f"${value:.4f}"


def score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
