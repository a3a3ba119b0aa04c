"""ODS: values, formulas and shown texts, with rows numbered as the sheet shows them.

A row or cell may stand for many equal ones (``number-rows-repeated``): those that hold data are expanded,
within bounds, and empty ones only counted, since writers fill a sheet up to its million rows with them.
Read with lxml: odfpy needs many times as long, and calamine has values alone (docs/formats.md).
OpenDocument 1.3, part 3, 9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from shared.documents.document import NOT_CALCULATED, PLAIN, Detail, Document, Fault, Part, Value, shown
from shared.documents.formats.columns import MAX_COLUMNS
from shared.documents.formats.container import Element
from shared.documents.formats.grid import MAX_CELLS, Area, Sheet
from shared.documents.formats.numbers import whole
from shared.documents.formats.odf import (
    OFFICE,
    PARAGRAPHS,
    STYLE,
    TABLE,
    all_text,
    headers_and_footers,
    metadata,
    open_odf,
    paragraph_text,
)
from shared.documents.formats.sheets import workbook
from shared.errors import Unreadable

MAX_REPEATED_ROWS = 10_000
"""Rows that one repeated row is expanded to; what is left out is named among the problems."""

_CALCEXT = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}value-type"
_ROW_GROUPS = {f"{TABLE}{name}" for name in ("table-row-group", "table-header-rows", "table-rows")}
_CELLS = (f"{TABLE}table-cell", f"{TABLE}covered-table-cell")
_VALUE_TYPE = f"{OFFICE}value-type"
_FORMULA = f"{TABLE}formula"
_SPANNED = f"{TABLE}number-columns-spanned"
_REFERENCE = re.compile(r"\[([^\]]*)\]")
_DURATION = re.compile(r"(-?)P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")


def parse(data: bytes) -> Document:
    """Read a workbook.

    Raises:
        Unreadable: no workbook, damaged, encrypted, a bomb, or too large.
    """
    container, root = open_odf(data)
    body = root.find(f"{OFFICE}body/{OFFICE}spreadsheet")
    if body is None:
        raise Unreadable("another kind of file than its name says: there is no spreadsheet in it")
    hidden_styles = {
        style.get(f"{STYLE}name")
        for style in root.iter(f"{STYLE}style")
        for properties in style.iterfind(f"{STYLE}table-properties")
        if properties.get(f"{TABLE}display") == "false"
    }
    reader = _Reader()
    sheets = [reader.sheet(table, hidden_styles) for table in body.iterfind(f"{TABLE}table")]
    if sheets:
        outside = [
            (text, Part.HEADER if is_header else Part.FOOTER)
            for text, is_header in headers_and_footers(container)
        ]
        deleted = body.find(f"{TABLE}tracked-changes")
        if deleted is not None and all_text(deleted):
            outside.append((all_text(deleted), Part.DELETED))
        sheets[-1].texts += [(text, part, None) for text, part in outside]
    return workbook(
        "ods", sheets, metadata(container), {"problems": reader.problems} if reader.problems else {}
    )


class _Reader:
    """Reads sheets and keeps count of their cells together."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._cells = 0

    def sheet(self, table: Element, hidden_styles: set[str | None]) -> Sheet:
        """One ``table:table``."""
        sheet = Sheet(table.get(f"{TABLE}name", ""), hidden=table.get(f"{TABLE}style-name") in hidden_styles)
        merged: list[Area] = []
        number = 1
        for row in _rows(table):
            repeated = _count(row, "number-rows-repeated")
            cells, details = self._row(row, number, merged)
            is_hidden = row.get(f"{TABLE}visibility", "visible") != "visible"
            if cells or details:
                self._expand(sheet, number, repeated, cells, details)
            if is_hidden:
                sheet.hidden_rows.update(range(number, number + min(repeated, MAX_REPEATED_ROWS)))
            number += repeated
        for area in merged:
            sheet.merge(area)
        for shapes in table.iterfind(f"{TABLE}shapes"):
            texts = (all_text(shape) for shape in shapes)
            sheet.texts += [(text, Part.TEXTBOX, None) for text in texts if text]
        return sheet

    def _expand(
        self, sheet: Sheet, number: int, repeated: int, cells: dict[int, Value], details: dict[int, Detail]
    ) -> None:
        kept = min(repeated, MAX_REPEATED_ROWS)
        if kept < repeated:
            self.problems.append(
                f"sheet {sheet.name}: row {number} is repeated {repeated} times, {kept} of them were read"
            )
        self._cells += kept * len(cells)
        if self._cells > MAX_CELLS:
            raise Unreadable(f"more than {MAX_CELLS} cells")
        for row in range(number, number + kept):
            if cells:
                sheet.rows[row] = cells
            for column, detail in details.items():
                sheet.details[row, column] = detail

    def _row(
        self, row: Element, number: int, merged: list[Area]
    ) -> tuple[dict[int, Value], dict[int, Detail]]:
        cells: dict[int, Value] = {}
        details: dict[int, Detail] = {}
        column = 1
        for cell in row.iterchildren(*_CELLS):
            repeated = _count(cell, "number-columns-repeated")
            holds_something = len(cell) or cell.get(_VALUE_TYPE) or cell.get(_FORMULA)
            value, detail = _cell(cell) if holds_something else (None, PLAIN)
            for at in range(column, min(column + repeated, MAX_COLUMNS + 1)):
                if value is not None:
                    cells[at] = value
                if detail != PLAIN:
                    details[at] = detail
            if cell.get(_SPANNED) is not None:
                down, right = _count(cell, "number-rows-spanned"), _count(cell, "number-columns-spanned")
                merged.append(Area(number, column, number + down - 1, column + right - 1))
            column += repeated
        return cells, details


def _rows(element: Element) -> Iterator[Element]:
    """The rows of a table, whatever groups they are in."""
    for child in element:
        if child.tag == f"{TABLE}table-row":
            yield child
        elif child.tag in _ROW_GROUPS:
            yield from _rows(child)


def _count(element: Element, name: str) -> int:
    return max(1, int(element.get(f"{TABLE}{name}", "1")))


def _cell(cell: Element) -> tuple[Value, Detail]:
    """A cell's value and what it has beside it."""
    text = "\n".join(paragraph_text(paragraph) for paragraph in cell.iterchildren(*PARAGRAPHS))
    comments = [all_text(comment) for comment in cell.iterfind(f"{OFFICE}annotation")]
    formula = cell.get(_FORMULA)
    detail = Detail(
        formula=None if formula is None else _formula(formula),
        comment="\n".join(filter(None, comments)) or None,
    )
    try:
        value, kind = _value(cell, text)
    except (ValueError, OverflowError):  # one broken cell does not spoil a sheet
        value, kind = Fault(text), "error"
    if value is None and formula is not None:
        return NOT_CALCULATED, detail._replace(
            kind="not calculated", shown=f"not calculated: {detail.formula}"
        )
    if value is not None and text and text != shown(value):
        detail = detail._replace(shown=text)
    return value, detail._replace(kind=kind) if kind else detail


def _value(cell: Element, text: str) -> tuple[Value, str | None]:
    """A cell's value and the kind of number that it is."""
    kind = cell.get(_VALUE_TYPE)
    number = cell.get(f"{OFFICE}value", "")
    if cell.get(_CALCEXT) == "error":
        return Fault(text), "error"
    match kind:
        case "float":
            return whole(float(number)), None
        case "percentage":
            return whole(float(number)), "percentage"
        case "currency":
            return whole(float(number)), f"currency {cell.get(f'{OFFICE}currency', '')}".strip()
        case "date":
            return _date(cell.get(f"{OFFICE}date-value", "")), None
        case "time":
            return _time(cell.get(f"{OFFICE}time-value", ""), text), None
        case "boolean":
            return cell.get(f"{OFFICE}boolean-value") == "true", None
        case "string":
            return text or cell.get(f"{OFFICE}string-value") or "", None
    return text or None, None


def _date(text: str) -> date | datetime:
    if "T" not in text:
        return date.fromisoformat(text)
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    moment = datetime.fromisoformat(f"{seconds}.{fraction[:6]:0<6}" if fraction else seconds)
    return moment.replace(tzinfo=None)


def _time(text: str, as_shown: str) -> time | timedelta | Fault:
    """A time of day, or a duration where it is a day or longer or negative."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return Fault(as_shown or text)
    sign, days, hours, minutes, seconds = match.groups(default="0")
    span = timedelta(days=int(days), hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    if sign == "-" or span >= timedelta(days=1):
        return -span if sign == "-" else span
    return (datetime.min + span).time()


def _formula(text: str) -> str:
    """``of:=SUM([.A1:.A3])`` as ``=SUM(A1:A3)``."""
    namespace, _, expression = text.partition("=")
    if namespace and not namespace.endswith(":"):
        expression = text
    return "=" + _REFERENCE.sub(lambda match: match[1].replace(":.", ":").removeprefix("."), expression)
