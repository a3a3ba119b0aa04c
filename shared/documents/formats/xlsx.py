"""XLSX: values, formulas, shown texts and what else a sheet has, in one pass over its XML.

Read with lxml: openpyxl has values *or* formulas per pass, no texts of boxes and no threaded comments, and
needs several times as long; calamine is fast but has values alone (docs/formats.md has the figures). The
built-in number formats and the translation of shared formulas come from openpyxl.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from openpyxl.formula.translate import Translator
from openpyxl.styles.numbers import BUILTIN_FORMATS

from shared.documents.document import NOT_CALCULATED, PLAIN, Detail, Document, Fault, Part, Value
from shared.documents.formats import numbers
from shared.documents.formats.container import Container, Element
from shared.documents.formats.grid import MAX_CELLS, Area, Sheet, address
from shared.documents.formats.ooxml import children, drawn_paragraphs, local, metadata, within
from shared.documents.formats.sheets import workbook
from shared.errors import Unreadable

MAX_TRANSLATED = 5_000
"""Shared formulas that are spelled out per sheet; further ones name the cell that they are shared from."""

_CELL = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_INTEGER = re.compile(r"-?[0-9]{1,300}")
_HEADER_CODE = re.compile(r'&(?:"[^"]*"|[0-9]+|K[0-9A-F]{6}|[A-Z])')


class _Book(NamedTuple):
    """What all sheets of a workbook share."""

    container: Container
    strings: list[str]
    formats: list[str]
    epoch: datetime


def parse(data: bytes) -> Document:
    """Read a workbook.

    Raises:
        Unreadable: no workbook, damaged, encrypted, a bomb, or too large.
    """
    container = Container(data, "xl/workbook.xml")
    root = container.xml("xl/workbook.xml")
    relations = container.relations("xl/workbook.xml")
    properties = next(iter(children(root, "workbookPr")), None)
    is_1904 = properties is not None and properties.get("date1904") in {"1", "true"}
    parts = dict(relations.values())
    book = _Book(
        container,
        _strings(container.xml_or_none(parts.get("sharedStrings", ""))),
        _formats(container.xml_or_none(parts.get("styles", ""))),
        datetime(1904, 1, 1) if is_1904 else datetime(1899, 12, 30),
    )
    sheets: list[Sheet] = []
    for element in within(root, "sheet"):
        sheet = Sheet(element.get("name", ""), hidden=element.get("state", "visible") != "visible")
        ids = [str(value) for key, value in element.items() if str(key).endswith("}id")]
        kind, part = relations.get(ids[0], ("", "")) if ids else ("", "")
        if kind == "worksheet":
            _fill(sheet, book, part)
        sheets.append(sheet)
        if sum(len(cells) for sheet in sheets for cells in sheet.rows.values()) > MAX_CELLS:
            raise Unreadable(f"more than {MAX_CELLS} cells")
    return workbook("xlsx", sheets, metadata(container), {"epoch": 1904} if is_1904 else {})


def _strings(root: Element | None) -> list[str]:
    """The shared strings, without phonetic readings."""
    return [_rich_text(item) for item in children(root, "si")]


def _rich_text(element: Element) -> str:
    pieces: list[str] = []
    for child in element:
        if local(child) == "t":
            pieces.append(child.text or "")
        elif local(child) == "r":
            pieces += [t.text or "" for t in children(child, "t")]
    return _unescape("".join(pieces))


def _formats(root: Element | None) -> list[str]:
    """The number format of each cell style."""
    if root is None:
        return []
    codes = {int(f.get("numFmtId", "0")): f.get("formatCode", "General") for f in within(root, "numFmt")}
    styles = [xf for group in children(root, "cellXfs") for xf in children(group, "xf")]
    ids = [int(style.get("numFmtId", "0")) for style in styles]
    return [codes.get(number) or BUILTIN_FORMATS.get(number, "General") for number in ids]


def _fill(sheet: Sheet, book: _Book, part: str) -> None:
    """Fill a sheet from its part and the parts that belong to it."""
    root = book.container.xml(part)
    for element in root:
        match local(element):
            case "sheetData":
                _rows(sheet, book, element)
            case "headerFooter":
                for child in element:
                    text = " ".join(_HEADER_CODE.sub(" ", child.text or "").split())
                    if text:
                        is_header = local(child).endswith("Header")
                        sheet.texts.append((text, Part.HEADER if is_header else Part.FOOTER, None))
    for merged in within(root, "mergeCell"):
        sheet.merge(_area(merged.get("ref", "")))
    for kind, target in book.container.relations(part).values():
        related = book.container.xml_or_none(target)
        if related is not None:
            _add_related(sheet, kind, related)


def _add_related(sheet: Sheet, kind: str, root: Element) -> None:
    match kind:
        case "table":
            area = _area(root.get("ref", ""))
            if root.get("headerRowCount", "1") == "1":
                totals = int(root.get("totalsRowCount", "0"))
                sheet.declared.append(area._replace(bottom=area.bottom - totals))
        case "comments":
            for comment in within(root, "comment"):
                text = "".join(_rich_text(text) for text in children(comment, "text"))
                _add_comment(sheet, comment.get("ref", ""), text, replace=False)
        case "threadedComment":
            for comment in within(root, "threadedComment"):
                text = "".join(text.text or "" for text in children(comment, "text"))
                _add_comment(sheet, comment.get("ref", ""), text, replace=True)
        case "drawing":
            for anchor in root:
                row = next((int(row.text or "0") + 1 for row in within(anchor, "row")), None)
                sheet.texts += [(text, Part.TEXTBOX, row) for text in drawn_paragraphs(anchor)]


def _add_comment(sheet: Sheet, ref: str, text: str, *, replace: bool) -> None:
    """Add a comment; a threaded one stands in place of the note that old programs show for it."""
    area = _area(ref)
    known = sheet.details.get((area.top, area.left), PLAIN).comment
    if known is None or not (known.startswith("[Threaded comment]") or replace):
        sheet.add(area.top, area.left, comment=text if known is None else f"{known}\n{text}")
    elif replace:
        together = text if known.startswith("[Threaded comment]") else f"{known}\n{text}"
        sheet.add(area.top, area.left, comment=together)


def _area(ref: str) -> Area:
    """``A2:C9`` as numbers; one cell is an area too."""
    corners = _CELL.findall(ref)
    if not corners:
        raise Unreadable(f"damaged: not a range of cells: {ref[:40]!r}")
    (left, top), (right, bottom) = corners[0], corners[-1]
    return Area(int(top), _column(left), int(bottom), _column(right))


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _rows(sheet: Sheet, book: _Book, data: Element) -> None:
    namespace = data.tag.removesuffix("sheetData")
    number = 0
    shared: dict[str, tuple[str, str]] = {}
    for row in data.iter(f"{namespace}row"):
        number = int(row.get("r", number + 1))
        if row.get("hidden") in {"1", "true"}:
            sheet.hidden_rows.add(number)
        cells: dict[int, Value] = {}
        column = 0
        for cell in row.iter(f"{namespace}c"):
            ref = _CELL.match(cell.get("r", ""))
            column = _column(ref[1]) if ref else column + 1
            parts = {child.tag: child for child in cell}
            value, detail = _value(book, cell, parts.get(f"{namespace}v"), parts.get(f"{namespace}is"))
            formula = parts.get(f"{namespace}f")
            if formula is not None:
                text = _formula(formula, address(number, column), shared)
                detail = detail._replace(formula=text)
                if value is None:
                    value = NOT_CALCULATED
                    detail = detail._replace(kind="not calculated", shown=f"not calculated: {text}")
            if value is not None:
                cells[column] = value
            if detail is not PLAIN and detail != PLAIN:
                sheet.details[number, column] = detail
        if cells:
            sheet.rows[number] = cells
    sheet.rows = dict(sorted(sheet.rows.items()))


def _value(
    book: _Book, cell: Element, stored: Element | None, inline: Element | None
) -> tuple[Value, Detail]:
    """The value of a cell, and its kind and shown text where it has them."""
    kind = cell.get("t", "n")
    if inline is not None:
        return _rich_text(inline), PLAIN
    if stored is None or (stored.text is None and kind != "str"):
        return None, PLAIN
    text = stored.text or ""
    try:
        return _typed(book, kind, text, cell.get("s", "0"))
    except (ValueError, IndexError, OverflowError):  # one broken cell does not spoil a sheet
        return Fault(text), Detail(kind="error")


def _typed(book: _Book, kind: str, text: str, style: str) -> tuple[Value, Detail]:
    match kind:
        case "s":
            return book.strings[int(text)], PLAIN
        case "str":
            return _unescape(text), PLAIN
        case "b":
            return text in {"1", "true"}, PLAIN
        case "e":
            return Fault(text), Detail(kind="error")
        case "d":
            moment = datetime.fromisoformat(text).replace(tzinfo=None)
            return (moment if "T" in text else moment.date()), PLAIN
    code = book.formats[int(style)] if int(style) < len(book.formats) else "General"
    if code == "General":
        return int(text) if _INTEGER.fullmatch(text) else numbers.whole(float(text)), PLAIN
    value, number_kind, shown = numbers.show(float(text), code, book.epoch)
    return value, Detail(shown=shown, kind=number_kind)


def _unescape(text: str) -> str:
    """Strings spell characters that XML has none for as ``_x000D_``."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _formula(element: Element, at: str, shared: dict[str, tuple[str, str]]) -> str:
    """A cell's formula; those shared with another cell are moved here from there."""
    text = f"={element.text}" if element.text else ""
    if element.get("t") != "shared":
        return text or "="
    index = element.get("si", "")
    if text:
        shared[index] = (text, at)
        return text
    origin_text, origin = shared.get(index, ("=", at))
    if len(shared) > MAX_TRANSLATED:
        return f"{origin_text} (as in {origin})"
    shared[f"{index} {at}"] = ("", at)
    return str(Translator(origin_text, origin).translate_formula(at))
