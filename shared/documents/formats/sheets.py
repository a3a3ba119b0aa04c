"""Sheets into blocks and tables, the same for xlsx and ods.

Every row that shows something is a block, cited by the row's number as the sheet shows it: hidden and
filtered rows count (Harness Arena Task API v1, "Submitting"). The first column of a table is its record,
so that a sheet built from a csv can be cited by it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta

from shared.documents.document import JSON, Block, Document, Part, Table, Value
from shared.documents.formats import columns, layout
from shared.documents.formats.grid import Sheet, address
from shared.documents.locators import NOWHERE, Locator


def workbook(form: str, sheets: Iterable[Sheet], metadata: Mapping[str, str], facts: JSON) -> Document:
    """The document of a workbook.

    Args:
        form: "xlsx" or "ods".
        sheets: in the order of their tabs.
        metadata: title, author and so on.
        facts: what else is known of the file.
    """
    blocks: list[Block] = []
    tables: list[Table] = []
    tabs: list[JSON] = []
    for sheet in sheets:
        more_blocks, more_tables = read(sheet)
        blocks += more_blocks
        tables += more_tables
        tabs.append(
            {"name": sheet.name, "rows": max(sheet.rows, default=0), "hidden": sheet.hidden}
            | ({"hidden_rows": len(sheet.hidden_rows)} if sheet.hidden_rows else {})
        )
    blocks += [metadata_block(name, value) for name, value in metadata.items()]
    return Document(form, blocks, tables, {"sheets": tabs, **facts})


def metadata_block(name: str, value: str) -> Block:
    """A property of the file: readable, searchable, cited by the path alone."""
    return Block(f"{name}: {value}", NOWHERE, Part.METADATA, citable=False)


def read(sheet: Sheet) -> tuple[list[Block], list[Table]]:
    """The blocks of a sheet's rows, comments and texts, and its tables."""
    places = layout.find(sheet)
    tables = [_table(sheet, place, index) for index, place in enumerate(places, 1)]
    records = {loc.row: loc.record for table in reversed(tables) for loc in table.locators}
    comments: dict[int, list[str]] = {}
    for (row, column), detail in sheet.details.items():
        if detail.comment is not None:
            comments.setdefault(row, []).append(f"{address(row, column)}: {detail.comment}")

    blocks: list[Block] = []
    part = Part.HIDDEN if sheet.hidden else Part.BODY
    for row in sorted(sheet.rows.keys() | comments.keys()):
        locator = Locator(sheet=sheet.name, row=row, record=records.get(row))
        text = " | ".join(filter(None, (sheet.shown(row, column) for column in sheet.rows.get(row, ()))))
        if text:
            blocks.append(Block(text, locator, part))
        blocks += [Block(comment, locator, Part.COMMENT, citable=False) for comment in comments.get(row, ())]
    for text, kind, anchor in sheet.texts:
        place = Locator(sheet=sheet.name, row=anchor) if anchor else NOWHERE
        blocks.append(Block(text, place, kind, citable=False))
    return blocks, tables


def _table(sheet: Sheet, place: layout.Place, index: int) -> Table:
    span = range(place.left, place.right + 1)
    header = [sheet.shown(place.header, column) if place.header else "" for column in span]
    details = {
        (position, offset): sheet.details[row, column]
        for position, row in enumerate(place.rows)
        for offset, column in enumerate(span)
        if (row, column) in sheet.details
    }
    return Table(
        name=sheet.name if index == 1 else f"{sheet.name} {index}",
        columns=columns.names(header),
        values=tuple(_alike([sheet.rows[row].get(column) for row in place.rows]) for column in span),
        locators=[
            Locator(sheet=sheet.name, row=row, record=sheet.shown(row, place.left).strip() or None)
            for row in place.rows
        ],
        header=place.header,
        sheet=sheet.name,
        hidden=sheet.hidden,
        hidden_rows=frozenset(i for i, row in enumerate(place.rows) if row in sheet.hidden_rows),
        details=details,
    )


def _alike(values: list[Value]) -> list[Value]:
    """A column in which dates among moments are moments too, and times among durations are durations.

    A sheet stores midnight as a mere date and an hour as a time of day, whatever its neighbours are.
    """
    types = {type(value) for value in values}
    if {date, datetime} <= types:
        return [datetime.combine(v, time()) if type(v) is date else v for v in values]
    if {time, timedelta} <= types:
        return [datetime.combine(date.min, v) - datetime.min if isinstance(v, time) else v for v in values]
    return values
