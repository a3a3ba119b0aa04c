"""Columns of a table: their names, and rows turned into columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from shared.documents.document import Value

MAX_COLUMNS = 1000
"""A table that is wider is no table that anybody asks about; the text stays in the blocks."""

MAX_CELLS = 2_000_000
"""Of one table, the empty ones included."""


def columns_for(rows: int) -> int:
    """How many columns a table of so many rows may have: the gaps of a sparse one take room too."""
    return max(1, min(MAX_COLUMNS, MAX_CELLS // max(1, rows)))


def names(cells: Iterable[str]) -> tuple[str, ...]:
    """Column names from header cells: trimmed, not empty, distinct without regard to case (as SQL has it)."""
    result: list[str] = []
    taken: set[str] = set()
    for index, cell in enumerate(cells, start=1):
        wanted = " ".join(cell.split()) or f"column_{index}"
        name, again = wanted, 2
        while name.casefold() in taken:
            name, again = f"{wanted}_{again}", again + 1
        taken.add(name.casefold())
        result.append(name)
    return tuple(result)


def transpose(rows: Sequence[Sequence[Value]], width: int) -> tuple[tuple[Value, ...], ...]:
    """Rows of up to ``width`` values as ``width`` columns; what a short row lacks is None."""
    padded = (row if len(row) == width else (*row, *(None,) * (width - len(row))) for row in rows)
    return tuple(zip(*padded, strict=True)) if rows else ((),) * width


def form(text: str) -> str:
    """The outline of an identifier: letters as ``a``, runs of digits as ``9`` (``TOK-12`` → ``aaa-9``)."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d+", "9", text.strip()))


def is_header(first: Sequence[str], below: Sequence[str]) -> bool:
    """Whether a table's first row names its columns.

    It does unless its first cell looks like the identifiers below it: with a digit, and of their form.

    Args:
        first: cells of the first row.
        below: the first column's cells of the rows that follow.
    """
    if not first or not any(c.isdigit() for c in first[0]) or not below:
        return True
    commonest, count = Counter(map(form, below[:200])).most_common(1)[0]
    return not (form(first[0]) == commonest and 2 * count > len(below[:200]))
