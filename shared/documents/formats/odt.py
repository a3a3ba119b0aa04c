"""ODT: paragraphs numbered over the non-empty ``text:p`` and ``text:h`` of the body, in document order.

Harness Arena Task API v1, "Submitting", leaves the edges open; ``NUMBERED`` is the one switch for them. By
default what stands in lists, sections, indexes and tables is numbered at its place; footnotes, text boxes,
comments and tracked deletions are read, but have no number: they name the nearest paragraph before them.
"""

from __future__ import annotations

from collections.abc import Iterator

from shared.documents.document import Block, Document, Part, Table
from shared.documents.formats import columns
from shared.documents.formats.container import Element
from shared.documents.formats.odf import (
    DRAW,
    OFFICE,
    PARAGRAPHS,
    TABLE,
    TEXT,
    all_text,
    headers_and_footers,
    metadata,
    open_odf,
    own_text,
    paragraph_text,
)
from shared.documents.formats.sheets import metadata_block
from shared.documents.locators import NOWHERE, Locator
from shared.errors import Unreadable

NUMBERED = frozenset({Part.BODY, Part.HEADING, Part.TABLE})
"""The parts whose paragraphs count."""

_APART = {
    f"{TEXT}note": Part.FOOTNOTE,
    f"{OFFICE}annotation": Part.COMMENT,
    f"{DRAW}text-box": Part.TEXTBOX,
    f"{DRAW}custom-shape": Part.TEXTBOX,
}


def parse(data: bytes) -> Document:
    """Read a text document.

    Raises:
        Unreadable: no text document, damaged, encrypted, or a bomb.
    """
    container, root = open_odf(data)
    body = root.find(f"{OFFICE}body/{OFFICE}text")
    if body is None:
        raise Unreadable("another kind of file than its name says: there is no text document in it")
    reader = _Reader(_deletions(body))
    reader.walk(body, Part.BODY)
    for text, is_header in headers_and_footers(container):
        reader.blocks.append(Block(text, NOWHERE, Part.HEADER if is_header else Part.FOOTER, citable=False))
    reader.blocks += [metadata_block(name, value) for name, value in metadata(container).items()]
    return Document("odt", reader.blocks, reader.tables, {"paragraphs": reader.count})


def _deletions(body: Element) -> dict[str, str]:
    """Text that was deleted while changes were tracked, by the id that marks its place."""
    regions = body.iterfind(f"{TEXT}tracked-changes/{TEXT}changed-region")
    found = ((region.get(f"{TEXT}id", ""), region.find(f"{TEXT}deletion")) for region in regions)
    return {identifier: all_text(deletion) for identifier, deletion in found if deletion is not None}


class _Reader:
    """Walks the body, counts paragraphs, and keeps what is anchored in them for after them."""

    def __init__(self, deletions: dict[str, str]) -> None:
        self.blocks: list[Block] = []
        self.tables: list[Table] = []
        self.count = 0
        self._deletions = deletions

    def walk(self, element: Element, part: Part) -> None:
        """Read what is below an element as one part of the document."""
        for child in element:
            if child.tag in PARAGRAPHS:
                self._paragraph(child, part)
            elif child.tag == f"{TABLE}table":
                self._table(child, part)
            elif child.tag in _APART:
                self.walk(child, _APART[child.tag])
            elif child.tag == f"{TEXT}change":
                self._add(self._deletions.get(child.get(f"{TEXT}change-id", ""), ""), Part.DELETED)
            elif isinstance(child.tag, str) and child.tag != f"{TEXT}tracked-changes":
                self.walk(child, part)

    def _paragraph(self, element: Element, part: Part) -> None:
        if part is Part.BODY and element.tag == f"{TEXT}h":
            part = Part.HEADING
        self._add(paragraph_text(element), part)
        self.walk(element, part)

    def _add(self, text: str, part: Part) -> None:
        if not text.strip():
            return
        if part in NUMBERED:
            self.count += 1
        self.blocks.append(Block(text, self._here(), part, citable=part in NUMBERED))

    def _here(self) -> Locator:
        return Locator(paragraph=self.count) if self.count else NOWHERE

    def _table(self, element: Element, part: Part) -> None:
        """The paragraphs of a table, and the table itself where it stands in the body."""
        within = Part.TABLE if part is Part.BODY else part
        cells: list[list[str]] = []
        locators: list[Locator] = []
        for row in _rows(element):
            before = self.count
            for cell in row:
                self.walk(cell, within)
            cells.append(
                [
                    own_text(cell)
                    for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell")
                ]
            )
            locators.append(Locator(paragraph=before + 1) if self.count > before else self._here())
        if part is Part.BODY and len(cells) > 1 and any(map(any, cells)):
            width = min(max(map(len, cells)), columns.MAX_COLUMNS)
            self.tables.append(
                Table(
                    name=element.get(f"{TABLE}name", ""),
                    columns=columns.names([*cells[0], *[""] * (width - len(cells[0]))][:width]),
                    values=columns.transpose([row[:width] for row in cells[1:]], width),
                    locators=locators[1:],
                )
            )


def _rows(table: Element) -> Iterator[Element]:
    """The rows of a table, but not those of tables within it."""
    for child in table:
        if child.tag == f"{TABLE}table-row":
            yield child
        elif child.tag in {f"{TABLE}table-header-rows", f"{TABLE}table-rows", f"{TABLE}table-row-group"}:
            yield from _rows(child)
