"""Plain text files and where in them a line stands."""

from __future__ import annotations

from collections.abc import Sequence


def write_lines(lines: Sequence[str]) -> bytes:
    """The lines as a file."""
    return ("\n".join(lines) + "\n").encode()


def line_of(lines: Sequence[str], text: str) -> int:
    """The number, from 1, of the first line that contains ``text``. Raises ValueError where none does."""
    for number, line in enumerate(lines, start=1):
        if text in line:
            return number
    raise ValueError(f"no line contains {text!r}")
