"""Spreadsheets, as xlsx or ods: several sheets, hidden ones, merged cells, formulas with cached values.

Rows are numbered as shown in the sheet, from 1; an empty row in ``Sheet.rows`` is an empty row there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal
from xml.sax.saxutils import escape

from emulators.arena.scenario.render.paper import PACKAGE_TYPE, odf_pack
from emulators.arena.scenario.render.zipped import XML, attribute, pack

BookFormat = Literal["xlsx", "ods"]


@dataclass(frozen=True)
class Formula:
    """A formula in spreadsheet notation without the equals sign, and the value that it had when saved."""

    text: str
    value: int


Cell = str | int | date | Formula | None


@dataclass(frozen=True)
class Sheet:
    """One sheet. ``merged`` are (row, first column, columns), each 1-based."""

    name: str
    rows: tuple[tuple[Cell, ...], ...]
    hidden: bool = False
    merged: tuple[tuple[int, int, int], ...] = ()


def write_book(sheets: Sequence[Sheet], form: BookFormat) -> bytes:
    """The sheets as a file of that format."""
    return _xlsx(sheets) if form == "xlsx" else _ods(sheets)


def column_letter(number: int) -> str:
    """1 → A; only the first 26 are needed here."""
    return chr(ord("A") + number - 1)


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_EPOCH = date(1899, 12, 30)


def _xlsx(sheets: Sequence[Sheet]) -> bytes:
    listed = "".join(
        f'<sheet name="{attribute(sheet.name)}" sheetId="{number}"'
        f'{" state=" + chr(34) + "hidden" + chr(34) if sheet.hidden else ""} r:id="rId{number}"/>'
        for number, sheet in enumerate(sheets, start=1)
    )
    relations = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number in range(1, len(sheets) + 1)
    )
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_SHEET}.worksheet+xml"/>'
        for number in range(1, len(sheets) + 1)
    )
    styles = (
        '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="1"><fill><patternFill patternType="none"/></fill></fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/></border></borders>'
        '<cellStyleXfs count="1"><xf/></cellStyleXfs>'
        '<cellXfs count="2"><xf xfId="0"/><xf numFmtId="14" xfId="0" applyNumberFormat="1"/></cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    )
    last = len(sheets) + 1
    return pack(
        [
            (
                "[Content_Types].xml",
                f'{XML}<Types xmlns="{_PACKAGE}/content-types">'
                f'<Default Extension="rels" ContentType="{PACKAGE_TYPE}.relationships+xml"/>'
                '<Default Extension="xml" ContentType="application/xml"/>'
                f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET}.sheet.main+xml"/>'
                f'<Override PartName="/xl/styles.xml" ContentType="{_SHEET}.styles+xml"/>{overrides}</Types>',
            ),
            (
                "_rels/.rels",
                f'{XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
                f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            ),
            (
                "xl/workbook.xml",
                f'{XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
            ),
            (
                "xl/_rels/workbook.xml.rels",
                f'{XML}<Relationships xmlns="{_PACKAGE}/relationships">{relations}'
                f'<Relationship Id="rId{last}" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
            ),
            ("xl/styles.xml", f'{XML}<styleSheet xmlns="{_MAIN}">{styles}</styleSheet>'),
            *(
                (f"xl/worksheets/sheet{number}.xml", _xlsx_sheet(sheet))
                for number, sheet in enumerate(sheets, start=1)
            ),
        ]
    )


def _xlsx_sheet(sheet: Sheet) -> str:
    rows = []
    for number, row in enumerate(sheet.rows, start=1):
        cells = "".join(
            _xlsx_cell(f"{column_letter(place)}{number}", cell)
            for place, cell in enumerate(row, start=1)
            if cell is not None
        )
        if cells:
            rows.append(f'<row r="{number}">{cells}</row>')
    merged = "".join(
        f'<mergeCell ref="{column_letter(first)}{row}:{column_letter(first + columns - 1)}{row}"/>'
        for row, first, columns in sheet.merged
    )
    merges = f'<mergeCells count="{len(sheet.merged)}">{merged}</mergeCells>' if merged else ""
    return f'{XML}<worksheet xmlns="{_MAIN}"><sheetData>{"".join(rows)}</sheetData>{merges}</worksheet>'


def _xlsx_cell(place: str, cell: Cell) -> str:
    if isinstance(cell, Formula):
        return f'<c r="{place}"><f>{escape(cell.text)}</f><v>{cell.value}</v></c>'
    if isinstance(cell, date):
        return f'<c r="{place}" s="1"><v>{(cell - _EPOCH).days}</v></c>'
    if isinstance(cell, int):
        return f'<c r="{place}"><v>{cell}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(str(cell))}</t></is></c>'


def _ods(sheets: Sequence[Sheet]) -> bytes:
    tables = "".join(_ods_sheet(sheet) for sheet in sheets)
    content = (
        '<office:automatic-styles><style:style style:name="shown" style:family="table">'
        '<style:table-properties table:display="true"/></style:style>'
        '<style:style style:name="hidden" style:family="table">'
        '<style:table-properties table:display="false"/></style:style></office:automatic-styles>'
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    )
    return odf_pack("application/vnd.oasis.opendocument.spreadsheet", content, "", sheets[0].name)


def _ods_sheet(sheet: Sheet) -> str:
    spans = {(row, first): columns for row, first, columns in sheet.merged}
    width = max(len(row) for row in sheet.rows)
    rows: list[str] = []
    blanks = 0
    for number, row in enumerate(sheet.rows, start=1):
        if not any(cell is not None for cell in row):
            blanks += 1
            continue
        if blanks:
            repeated = f' table:number-rows-repeated="{blanks}"' if blanks > 1 else ""
            rows.append(f"<table:table-row{repeated}><table:table-cell/></table:table-row>")
            blanks = 0
        rows.append(f"<table:table-row>{_ods_row(row, number, spans)}</table:table-row>")
    style = "hidden" if sheet.hidden else "shown"
    return (
        f'<table:table table:name="{attribute(sheet.name)}" table:style-name="{style}">'
        f'<table:table-column table:number-columns-repeated="{width}"/>{"".join(rows)}</table:table>'
    )


def _ods_row(row: Sequence[Cell], number: int, spans: dict[tuple[int, int], int]) -> str:
    cells = []
    covered = 0
    for place, cell in enumerate(row, start=1):
        if covered:
            cells.append("<table:covered-table-cell/>")
            covered -= 1
            continue
        span = spans.get((number, place), 1)
        covered = span - 1
        cells.append(_ods_cell(cell, f' table:number-columns-spanned="{span}"' if span > 1 else ""))
    return "".join(cells)


def _ods_cell(cell: Cell, span: str) -> str:
    if cell is None:
        return f"<table:table-cell{span}/>"
    if isinstance(cell, Formula):
        formula = attribute(_ods_formula(cell.text))
        kind = f'table:formula="of:={formula}" office:value-type="float" office:value="{cell.value}"'
        text = str(cell.value)
    elif isinstance(cell, date):
        kind, text = f'office:value-type="date" office:date-value="{cell.isoformat()}"', cell.isoformat()
    elif isinstance(cell, int):
        kind, text = f'office:value-type="float" office:value="{cell}"', str(cell)
    else:
        kind, text = 'office:value-type="string"', str(cell)
    return f"<table:table-cell{span} {kind}><text:p>{escape(text)}</text:p></table:table-cell>"


def _ods_formula(text: str) -> str:
    return re.sub(
        r"([A-Z]+\d+)(?::([A-Z]+\d+))?",
        lambda match: f"[.{match[1]}:.{match[2]}]" if match[2] else f"[.{match[1]}]",
        text,
    )
