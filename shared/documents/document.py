"""What every format is turned into: one ``Document`` of text blocks and tables, each with its locators.

A document knows no path: equal bytes with equal extensions give equal documents, so one parse serves
every task that has the file. Tables are stored by columns (``values[column][row]``), which is how SQL wants
them and loads several times faster than rows of cells. What only few cells have (a shown text that differs
from the value, a formula, a comment) is kept beside the values in ``details``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from shared.documents.locators import NOWHERE, Locator

JSON = Any
"""What ``json.loads`` returns."""


class Part(StrEnum):
    """What a block is within its document."""

    BODY = "body"
    HEADING = "heading"
    TABLE = "table"
    CONTENT_CONTROL = "content control"
    TEXTBOX = "text box"
    HEADER = "header"
    FOOTER = "footer"
    FOOTNOTE = "footnote"
    COMMENT = "comment"
    INSERTED = "tracked insertion"
    DELETED = "tracked deletion"
    ANNOTATION = "annotation"
    FIELD = "form field"
    ATTACHMENT = "attachment"
    METADATA = "metadata"
    HIDDEN = "hidden sheet"
    NOTE = "note"
    """Not the document's words but ours: what a reader must know ("page 3 is an image")."""


class Block(NamedTuple):
    """A piece of text and where it stands.

    ``citable`` says that the locator names this very text; otherwise it is the nearest place that a citation
    can name (or the document as a whole). ``line`` is the physical line of the text where the format has
    lines but is not cited by them (csv, json), else None.
    """

    text: str
    locator: Locator = NOWHERE
    part: Part = Part.BODY
    citable: bool = True
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """The value of a cell that has none: an error (``#DIV/0!``), or a formula that was never calculated."""

    text: str

    def __str__(self) -> str:
        return self.text


NOT_CALCULATED = Fault("not calculated")
"""A formula stored without a result: the writer never calculated it, and neither do we."""

Value = None | bool | int | float | str | date | datetime | time | timedelta | Fault | JSON
"""A cell's value. Percentages and currencies are numbers (``Detail.kind`` tells them apart); durations and
times beyond a day are timedeltas; cells of json tables may hold lists and objects."""


class Detail(NamedTuple):
    """What a cell has beside its value; None where there is no such thing.

    ``shown`` is the text as the sheet shows it, given where it is not simply the value's own text.
    ``kind`` is "percentage", "currency" or "currency EUR", "error", "not calculated".
    ``formula`` starts with "=". ``comment`` is the cell's comment. ``merged`` names the top left cell ("A2")
    of the merged range that the cell lies in, on the covered cells only.
    """

    shown: str | None = None
    kind: str | None = None
    formula: str | None = None
    comment: str | None = None
    merged: str | None = None


PLAIN = Detail()


class Cell(NamedTuple):
    """One cell of a table, put together: its value, the text that is shown, and the details."""

    value: Value
    shown: str
    detail: Detail


@dataclass(frozen=True)
class Table:
    """A table, by columns.

    Args:
        name: of the sheet, the key in a json document, or "" where the file holds one nameless table.
            Several tables in one sheet are told apart by a number: ``costs``, ``costs 2``.
        columns: names, not empty and distinct: ``column_3`` stands for a nameless third one, ``name_2`` for
            the second ``name``.
        values: one sequence per column, all as long as ``locators``.
        locators: one per row.
        lines: the physical line on which each row starts (csv, json), else empty.
        header: the line or sheet row that holds the column names; None: the names are ours.
        sheet: the sheet that the table stands in, None outside of workbooks.
        hidden: the sheet is hidden.
        hidden_rows: indexes (0-based) of rows that are hidden or filtered away.
        details: of the few cells that have some, by (row index, column index).
    """

    name: str
    columns: tuple[str, ...]
    values: tuple[Sequence[Value], ...]
    locators: Sequence[Locator]
    lines: Sequence[int] = ()
    header: int | None = None
    sheet: str | None = None
    hidden: bool = False
    hidden_rows: frozenset[int] = frozenset()
    details: Mapping[tuple[int, int], Detail] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.locators)

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """The rows, in order."""
        return zip(*self.values, strict=True)

    def cell(self, row: int, column: int) -> Cell:
        """The cell at the given indexes (0-based, of the table, not of the sheet)."""
        value = self.values[column][row]
        detail = self.details.get((row, column), PLAIN)
        return Cell(value, shown(value) if detail.shown is None else detail.shown, detail)


@dataclass(frozen=True)
class Document:
    """A file that was read.

    Args:
        format: its name among ``locators.TAKES``.
        blocks: all text, in the order of the document.
        tables: what could be told to be a table; its text is in ``blocks`` too.
        facts: what is known of the file as a whole, as JSON data: encoding, pages, sheets, size of an image.
            ``facts["problems"]`` lists what could not be read and why, where the rest could.
        unreadable: why nothing could be read; None for a document that could.
    """

    format: str
    blocks: Sequence[Block] = ()
    tables: Sequence[Table] = ()
    facts: Mapping[str, JSON] = field(default_factory=dict)
    unreadable: str | None = None


def shown(value: Value) -> str:
    """A value's own text: ISO dates, ``TRUE``/``FALSE`` as sheets write them, numbers without ``.0``."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return str(value)
