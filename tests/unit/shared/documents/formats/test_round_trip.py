"""Any table that an independent writer puts into a file comes back the same, with the same row numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import openpyxl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from odf import teletype
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table as OdfTable
from odf.table import TableCell, TableRow
from odf.text import P

from shared.documents.document import Table
from shared.documents.registry import parse
from tests.support.examples import examples

Rows = Sequence[Sequence[Any]]

NAMES = st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=6, unique=True)
LETTERS = st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"], include_characters="\n\t")
TEXT = st.text(LETTERS, min_size=1, max_size=20)
IDS = TEXT.filter(lambda text: text.strip())
MOMENTS = st.datetimes(datetime(1900, 3, 1), datetime(2199, 12, 31)).map(lambda m: m.replace(microsecond=0))
NUMBERS = st.integers(-(10**15), 10**15) | st.floats(-1e300, 1e300).map(lambda f: float(f"{f:.15g}"))
SPANS = st.integers(86_400, 8_640_000).map(lambda seconds: timedelta(seconds=seconds))


def not_special(text: str) -> bool:
    """Texts that mean themselves: no formula, error or escape for openpyxl, no outer spaces for ODF."""
    is_bare = all(line == line.strip(" ") for line in text.split("\n"))
    return is_bare and not text.startswith(("=", "#")) and "_x" not in text


CELLS: list[st.SearchStrategy[Any]] = [
    TEXT.filter(not_special),
    NUMBERS,
    st.booleans(),
    st.dates(date(1900, 3, 1), date(2199, 12, 31)),
    MOMENTS,
    st.times().map(lambda t: t.replace(microsecond=0)),
    SPANS,
]


@st.composite
def tables(draw: st.DrawFn, ids: st.SearchStrategy[str], cells: Sequence[st.SearchStrategy[Any]]) -> Rows:
    """A header and rows: ids in the first column, one type in each other one, which may have gaps."""
    header = draw(NAMES)
    kinds = [draw(st.sampled_from(cells)) for _ in header[1:]]
    rows = draw(st.lists(st.tuples(ids, *(kind | st.none() for kind in kinds)), min_size=1, max_size=12))
    return [header, *rows]


@settings(max_examples=examples(150))
@given(tables(IDS, [TEXT | st.just("")]), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]))
def test_a_table_written_to_csv_comes_back_with_its_records_and_lines(
    rows: Rows, delimiter: str, line_end: str
) -> None:
    if len(rows[0]) == 1:  # nothing tells that the delimiter within the only column is none
        assume(not set("".join(row[0] for row in rows)) & set(",;\t|"))
    target = io.StringIO()
    writer = csv.writer(target, delimiter=delimiter, lineterminator=line_end)
    starts = []
    for row in rows:
        starts.append(target.getvalue().count("\n") + 1)
        writer.writerow(["" if cell is None else cell for cell in row])

    (table,) = parse(target.getvalue().encode(), "table.csv").tables

    assert list(table.columns) == list(rows[0])
    assert [list(row) for row in table.rows()] == [["" if c is None else c for c in row] for row in rows[1:]]
    assert [locator.record for locator in table.locators] == [row[0].strip() for row in rows[1:]]
    assert list(table.lines) == starts[1:]


def to_xlsx(rows: Rows, above: int) -> bytes:
    book = openpyxl.Workbook()
    for at, row in enumerate(rows, start=above + 1):
        for column, value in enumerate(row, start=1):
            book.active.cell(at, column).value = value
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def to_ods(rows: Rows, above: int) -> bytes:
    book = OpenDocumentSpreadsheet()
    sheet = OdfTable(name="Sheet")
    book.spreadsheet.addElement(sheet)
    if above:
        sheet.addElement(TableRow(numberrowsrepeated=above))
    for row in rows:
        line = TableRow()
        sheet.addElement(line)
        for value in row:
            line.addElement(odf_cell(value))
    target = io.BytesIO()
    book.write(target)
    return target.getvalue()


def odf_cell(value: Any) -> TableCell:
    match value:
        case None:
            return TableCell()
        case bool():
            return TableCell(valuetype="boolean", booleanvalue=str(value).lower())
        case int() | float():
            return TableCell(valuetype="float", value=repr(value))
        case datetime() | date():
            return TableCell(valuetype="date", datevalue=value.isoformat())
        case time():
            return TableCell(valuetype="time", timevalue=value.strftime("PT%HH%MM%SS"))
        case timedelta():
            return TableCell(valuetype="time", timevalue=f"PT{int(value.total_seconds())}S")
    cell = TableCell(valuetype="string")
    for piece in value.split("\n"):
        paragraph = P()
        teletype.addTextToElement(paragraph, piece)
        cell.addElement(paragraph)
    return cell


@pytest.mark.parametrize(("write", "extension"), [(to_xlsx, "xlsx"), (to_ods, "ods")])
@settings(max_examples=examples(60))
@given(rows=tables(IDS.filter(not_special), CELLS), above=st.integers(0, 5))
def test_a_table_written_to_a_sheet_comes_back_with_its_row_numbers(
    write: Callable[[Rows, int], bytes], extension: str, rows: Rows, above: int
) -> None:
    (table,) = parse(write(rows, above), f"table.{extension}").tables

    assert list(table.columns) == list(rows[0])
    assert [list(map(typed, row)) for row in table.rows()] == [list(map(typed, row)) for row in rows[1:]]
    assert [locator.row for locator in table.locators] == list(range(above + 2, above + 1 + len(rows)))
    assert table.header == above + 1
    assert records(table) == [row[0].strip() for row in rows[1:]]


def typed(value: Any) -> tuple[str, Any]:
    """A value with its type, but for whole numbers, which sheets store as they like."""
    kind = (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )
    return kind, value


def records(table: Table) -> list[str | None]:
    return [locator.record for locator in table.locators]
