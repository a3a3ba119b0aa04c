"""Readers of raw bytes that share no code with the product: XML by hand, pdf by pdfium, pictures by glyph.

They read what scenarios hold and no more. Places are those of the Task API: paragraphs, rows, pages and lines
count from 1.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from datetime import date, timedelta
from functools import cache, lru_cache
from typing import Any
from xml.etree import ElementTree as Xml

import pypdfium2
from PIL import Image, ImageDraw, ImageFont

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
ODF = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
OFFICE, TEXT, TABLE, STYLE = (ODF % name for name in ("office", "text", "table", "style"))


def lines(data: bytes) -> list[str]:
    """The lines of a text file."""
    return data.decode().split("\n")


def records(path: str, data: bytes) -> list[dict[str, Any]]:
    """The rows of a csv or json register; the id stands under ``id`` too."""
    if path.endswith(".json"):
        return json.loads(data)
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    first = next(iter(rows[0]))
    return [{"id": row[first], **{key: value or None for key, value in row.items()}} for row in rows]


def paragraphs(path: str, data: bytes) -> list[str]:
    """The non-empty paragraphs of the body, in order; those of tables left out."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    if path.endswith(".docx"):
        body = Xml.fromstring(archive.read("word/document.xml")).find(f"{W}body")
        found = ["".join(node.text or "" for node in p.iter(f"{W}t")) for p in body.findall(f"{W}p")]
    else:
        text = Xml.fromstring(archive.read("content.xml")).find(f"{OFFICE}body/{OFFICE}text")
        inside = {p for table in text.iter(f"{TABLE}table") for p in table.iter()}
        tags = {f"{TEXT}p", f"{TEXT}h"}
        found = ["".join(p.itertext()) for p in text.iter() if p.tag in tags and p not in inside]
    return [paragraph for paragraph in found if paragraph.strip()]


def sheets(path: str, data: bytes) -> dict[str, dict[int, list[Any]]]:
    """Per sheet, hidden ones too, the cells of each row that has any."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    return _xlsx(archive) if path.endswith(".xlsx") else _ods(archive)


def _xlsx(archive: zipfile.ZipFile) -> dict[str, dict[int, list[Any]]]:
    book = Xml.fromstring(archive.read("xl/workbook.xml"))
    relations = Xml.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {relation.get("Id"): relation.get("Target") for relation in relations}
    found = {}
    for sheet in book.iter(f"{S}sheet"):
        rows: dict[int, list[Any]] = {}
        for row in Xml.fromstring(archive.read(f"xl/{targets[sheet.get(f'{R}id')]}")).iter(f"{S}row"):
            cells: list[Any] = []
            for cell in row.findall(f"{S}c"):
                cells += [None] * (ord(cell.get("r")[0]) - ord("A") - len(cells))
                value = cell.findtext(f"{S}v")
                if cell.get("t") == "inlineStr":
                    cells.append("".join(cell.itertext()))
                elif cell.get("s") == "1":
                    cells.append(date(1899, 12, 30) + timedelta(days=int(value)))
                else:
                    cells.append(int(value))
            rows[int(row.get("r"))] = cells
        found[sheet.get("name")] = rows
    return found


def _ods(archive: zipfile.ZipFile) -> dict[str, dict[int, list[Any]]]:
    found = {}
    for table in Xml.fromstring(archive.read("content.xml")).iter(f"{TABLE}table"):
        rows: dict[int, list[Any]] = {}
        number = 0
        for row in table.findall(f"{TABLE}table-row"):
            number += int(row.get(f"{TABLE}number-rows-repeated", "1"))
            cells = [_ods_cell(cell) for cell in row]
            if any(cell is not None for cell in cells):
                rows[number] = cells
        found[table.get(f"{TABLE}name")] = rows
    return found


def _ods_cell(cell: Xml.Element) -> Any:
    kind = cell.get(f"{OFFICE}value-type")
    if kind == "float":
        return int(cell.get(f"{OFFICE}value"))
    if kind == "date":
        return date.fromisoformat(cell.get(f"{OFFICE}date-value"))
    return "".join(cell.itertext()) if kind else None


def pages(data: bytes) -> list[str]:
    """The text of each page."""
    document = pypdfium2.PdfDocument(data)
    try:
        return [page.get_textpage().get_text_bounded().replace("\r\n", "\n") for page in document]
    finally:
        document.close()


@lru_cache(maxsize=64)
def picture(data: bytes) -> tuple[str, ...]:
    """The lines of text in a screenshot, read by comparing each cell with each glyph of Pillow's own font."""
    image = Image.open(io.BytesIO(data)).convert("L")
    image = image.resize((image.width // 2, image.height // 2), Image.Resampling.BOX)
    found = []
    for top in range(28, image.height - 11, 14):
        band = image.crop((10, top, image.width - 4, top + 11))
        paper = band.getpixel((band.width - 1, 10))
        line = " "
        for left in range(0, band.width - 5, 6):
            line += _glyphs(line[-1])[_bits(band, left, paper)]
        found.append(line.strip())
    return tuple(found)


def _bits(image: Image.Image, left: int, paper: int) -> bytes:
    """Ink of one cell. Its last column is left out: the next glyph may begin there."""
    cell = image.crop((left, 0, left + 5, 11))
    return bytes(abs(pixel - paper) > 100 for pixel in cell.tobytes())


@cache
def _glyphs(before: str) -> dict[bytes, str]:
    """What each character looks like after that one, whose glyph may reach into its cell."""
    font = ImageFont.load_default_imagefont()
    glyphs = {}
    for code in range(126, 31, -1):
        pair = Image.new("L", (18, 11), 0)
        ImageDraw.Draw(pair).text((0, 0), before + chr(code), fill=255, font=font)
        glyphs[_bits(pair, 6, 0)] = chr(code)
    return glyphs
