"""A sheet as a grid of cells: what xlsx and ods are read into before blocks and tables are made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from shared.documents.document import PLAIN, Detail, Part, Value, shown
from shared.documents.formats.columns import MAX_COLUMNS

MAX_CELLS = 1_000_000
"""Cells of all sheets together; a workbook with more is not one that somebody cites rows of."""


class Area(NamedTuple):
    """A rectangle of cells, 1-based, both ends included."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass
class Sheet:
    """A sheet as a format module fills it; rows and columns are 1-based and ascend.

    Args:
        name: as shown on its tab.
        hidden: whether the tab is.
        rows: the values, of cells that have one.
        details: what cells have beside.
        hidden_rows: rows that are hidden or filtered away.
        declared: the tables that the file itself names, header included.
        texts: text outside of the cells (boxes, headers): what it says, what it is, the row that it is
            anchored to where it is to one.
    """

    name: str
    hidden: bool = False
    rows: dict[int, dict[int, Value]] = field(default_factory=dict)
    details: dict[tuple[int, int], Detail] = field(default_factory=dict)
    hidden_rows: set[int] = field(default_factory=set)
    declared: list[Area] = field(default_factory=list)
    texts: list[tuple[str, Part, int | None]] = field(default_factory=list)

    def shown(self, row: int, column: int) -> str:
        """The text of a cell."""
        detail = self.details.get((row, column), PLAIN)
        return shown(self.rows.get(row, {}).get(column)) if detail.shown is None else detail.shown

    def add(self, row: int, column: int, **detail: str | None) -> None:
        """Set some of the details of a cell."""
        self.details[row, column] = self.details.get((row, column), PLAIN)._replace(**detail)

    def merge(self, area: Area) -> None:
        """Mark the cells that a merged range covers, in rows that show something."""
        first = address(area.top, area.left)
        for row in self.rows:
            if area.top <= row <= area.bottom:
                for column in range(area.left, min(area.right, MAX_COLUMNS) + 1):
                    if (row, column) != (area.top, area.left):
                        self.add(row, column, merged=first)


def address(row: int, column: int) -> str:
    """A cell's name: row 2, column 28 → ``AB2``."""
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row}"
