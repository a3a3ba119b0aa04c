"""Finds the tables in a grid.

Tables are parted by empty rows and, where both sides are tables, by empty columns. A table's header is its
first full row of texts, below title lines and below a row that names groups of columns. A run of rows that
fits under the table above it and has no header of its own goes on with that table. A single column is a
table only if the sheet has no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shared.documents.formats.columns import MAX_COLUMNS, columns_for, form
from shared.documents.formats.grid import Sheet

_HEADER_ROWS = 3
"""So many rows at most name groups of columns and columns."""


@dataclass(frozen=True)
class Place:
    """Where a table is: first and last column, the row of its header (None: it has none), the other rows."""

    left: int
    right: int
    header: int | None
    rows: list[int]


def find(sheet: Sheet) -> list[Place]:
    """The places of a sheet's tables, by their first row, then from left to right."""
    declared = [
        Place(area.left, area.right, area.top, [row for row in sheet.rows if area.top < row <= area.bottom])
        for area in sheet.declared
        if area.right - area.left < MAX_COLUMNS
    ]
    guessed: list[Place] = []
    for rows in _runs(_free(sheet, declared)):
        for left, right in _spans(rows):
            inside = [row for row, used in rows.items() if any(left <= column <= right for column in used)]
            _place(sheet, guessed, inside, left, min(right, left + columns_for(len(inside)) - 1))
    if len({column for cells in sheet.rows.values() for column in cells}) > 1:
        guessed = [place for place in guessed if place.right > place.left]
    return sorted(
        declared + guessed, key=lambda place: (place.header or min(place.rows, default=0), place.left)
    )


def _free(sheet: Sheet, declared: Sequence[Place]) -> dict[int, list[int]]:
    """The used columns of each row outside of the tables that the file declares."""
    taken = [(place, {place.header, *place.rows}) for place in declared]
    free: dict[int, list[int]] = {}
    for row, cells in sheet.rows.items():
        around = [place for place, rows in taken if row in rows]
        used = [c for c in cells if not any(place.left <= c <= place.right for place in around)]
        if used:
            free[row] = used
    return free


def _runs(used: Mapping[int, list[int]]) -> Iterator[dict[int, list[int]]]:
    """Rows that follow each other without an empty one between."""
    run: dict[int, list[int]] = {}
    for row, cells in used.items():
        if run and row - 1 not in run:
            yield run
            run = {}
        run[row] = cells
    if run:
        yield run


def _spans(rows: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """First and last columns of what stands beside each other; parted only if each side could be a table."""
    used = sorted({column for cells in rows.values() for column in cells})
    cuts = [0, *(i for i in range(1, len(used)) if used[i] - used[i - 1] > 1), len(used)]
    spans = [(used[start], used[stop - 1]) for start, stop in pairwise(cuts)]
    if all(_is_block(rows, left, right) for left, right in spans):
        return spans
    return [(used[0], used[-1])]


def _is_block(rows: Mapping[int, Sequence[int]], left: int, right: int) -> bool:
    tall = sum(any(left <= column <= right for column in cells) for cells in rows.values())
    return right > left and tall > 1


def _place(sheet: Sheet, places: list[Place], rows: list[int], left: int, right: int) -> None:
    """Add the table in this area, if it is one, or its rows to the table above."""
    above = next((p for p in reversed(places) if p.left <= left and right <= p.right and p.rows), None)
    if above is not None and above.rows[-1] < rows[0] and not _starts_anew(sheet, above, rows[0]):
        above.rows.extend(rows)
        return
    width = right - left + 1
    while len(rows) > 1 and width > 1 and _filled(sheet, rows[0], left, right) == 1:
        rows = rows[1:]
    header = _header(sheet, rows, left, right)
    body = [row for row in rows if header is None or row > header]
    if body and (width > 1 or header is not None) and len(rows) > 1:
        places.append(Place(left, right, header, body))


def _header(sheet: Sheet, rows: Sequence[int], left: int, right: int) -> int | None:
    """The row that names the columns: of the first ones that hold only texts, the one that fills most."""
    best: int | None = None
    for row in rows[:_HEADER_ROWS]:
        texts = [value for column, value in sheet.rows[row].items() if left <= column <= right]
        if not all(isinstance(value, str) for value in texts):
            break
        if best is None or len(texts) > _filled(sheet, best, left, right):
            best = row
    return best


def _starts_anew(sheet: Sheet, above: Place, row: int) -> bool:
    """Whether a row after a gap heads a table of its own, and does not go on with the one above."""
    cells = {
        column: value for column, value in sheet.rows[row].items() if above.left <= column <= above.right
    }
    if not all(isinstance(value, str) for value in cells.values()):
        return False
    if above.left not in cells:
        return True
    last = sheet.rows[above.rows[-1]]
    if any(column in last and not isinstance(last[column], str) for column in cells):
        return True
    if sheet.rows.get(above.header or 0) == sheet.rows[row]:
        return True
    same_form = form(sheet.shown(row, above.left)) == form(sheet.shown(above.rows[-1], above.left))
    return len(cells) < 2 and not same_form


def _filled(sheet: Sheet, row: int, left: int, right: int) -> int:
    return sum(left <= column <= right for column in sheet.rows[row])
