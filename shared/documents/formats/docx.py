"""DOCX: paragraphs numbered as python-docx's ``doc.paragraphs`` has them, without the empty ones.

Harness Arena Task API v1, "Submitting". So a paragraph has a number if it stands directly in the body and
its ``.text`` there is more than white space. All other text (tables, content controls, boxes, comments,
notes, tracked changes, headers) is read too, under the number of the last paragraph before it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence

import docx
from docx.opc.exceptions import PackageNotFoundError
from lxml import etree

from shared.documents.document import Block, Document, Part, Table
from shared.documents.formats import columns
from shared.documents.formats.container import Container, Element, damaged_xml
from shared.documents.formats.ooxml import metadata
from shared.documents.formats.sheets import metadata_block
from shared.documents.locators import NOWHERE, Locator
from shared.errors import Unreadable

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BOX = f"{_W}txbxContent"
_DELETED = {f"{_W}del", f"{_W}moveFrom"}
_INSERTED = (f"{_W}ins", f"{_W}moveTo")
_NOT_SHOWN = {_BOX, _FALLBACK, f"{_W}pPr", *_DELETED}
_MARKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-", f"{_W}ptab": "\t"}
_REFERENCES = {
    f"{_W}commentReference": ("comments", Part.COMMENT),
    f"{_W}footnoteReference": ("footnotes", Part.FOOTNOTE),
    f"{_W}endnoteReference": ("endnotes", Part.FOOTNOTE),
}


def parse(data: bytes) -> Document:
    """Read a document.

    Raises:
        Unreadable: no docx file, damaged, encrypted, or a bomb.
    """
    container = Container(data, "[Content_Types].xml")
    try:
        document = docx.Document(io.BytesIO(data))
    except etree.XMLSyntaxError as error:
        raise damaged_xml(error, "a part") from None
    except (KeyError, ValueError, PackageNotFoundError) as error:
        raise Unreadable(f"not a Word document: {error}") from None
    body = document.element.body
    if body is None:
        raise Unreadable("damaged: a Word document without a body")
    name = str(document.part.partname).lstrip("/")
    numbered = [paragraph for paragraph in document.paragraphs if paragraph.text.strip()]
    reader = _Reader(
        numbers={paragraph._p: number for number, paragraph in enumerate(numbered, 1)},
        headings={p._p for p in numbered if p.style is not None and _is_heading(str(p.style.name))},
        notes=_notes(container, name),
    )
    reader.walk(body, Part.BODY)
    for part, text in _margins(container, name):
        reader.blocks.append(Block(text, NOWHERE, part, citable=False))
    reader.blocks += [metadata_block(key, value) for key, value in metadata(container).items()]
    return Document("docx", reader.blocks, reader.tables, {"paragraphs": len(numbered)})


def _is_heading(style: str) -> bool:
    return style.startswith(("Heading", "Title"))


def _notes(container: Container, name: str) -> dict[str, dict[str, str]]:
    """The texts of comments, footnotes and endnotes: kind → id → text."""
    result: dict[str, dict[str, str]] = {}
    for kind, part in container.relations(name).values():
        if kind in {"comments", "footnotes", "endnotes"} and part in container.names:
            result[kind] = {note.get(f"{_W}id", ""): _all_text(note) for note in container.xml(part)}
    return result


def _margins(container: Container, name: str) -> Iterator[tuple[Part, str]]:
    """The texts of headers and footers, each once."""
    parts = {part: kind for kind, part in container.relations(name).values() if kind in {"header", "footer"}}
    for part, kind in sorted(parts.items()):
        root = container.xml_or_none(part)
        for text in () if root is None else (_all_text(root), *map(_all_text, _boxes(root))):
            if text:
                yield (Part.HEADER if kind == "header" else Part.FOOTER), text


class _Reader:
    """Walks the body in document order and knows the number of the last numbered paragraph.

    Args:
        numbers: of the paragraphs that have one.
        headings: those of them that are headings.
        notes: what ``_notes`` found.
    """

    def __init__(
        self, numbers: Mapping[Element, int], headings: set[Element], notes: Mapping[str, Mapping[str, str]]
    ) -> None:
        self.blocks: list[Block] = []
        self.tables: list[Table] = []
        self._numbers = numbers
        self._headings = headings
        self._notes = notes
        self._here = NOWHERE

    def walk(self, element: Element, part: Part) -> None:
        """Read the paragraphs and tables below an element as one part of the document."""
        for child in element:
            if child.tag == f"{_W}p":
                self._paragraph(child, part)
            elif child.tag == f"{_W}tbl":
                self._table(child, part)
            elif child.tag == f"{_W}sdt":
                self.walk(child, Part.CONTENT_CONTROL if part is Part.BODY else part)
            elif isinstance(child.tag, str) and child.tag != f"{_W}sectPr":
                self.walk(child, part)

    def _paragraph(self, element: Element, part: Part) -> None:
        number = self._numbers.get(element)
        text = _text(element)
        if number is not None:
            self._here = Locator(paragraph=number)
            kind = Part.HEADING if element in self._headings else Part.BODY
            self.blocks.append(Block(text, self._here, kind))
        elif text.strip():
            if part is Part.BODY:
                part = Part.INSERTED if any(True for _ in element.iter(*_INSERTED)) else Part.CONTENT_CONTROL
            self._aside(text, part)
        self._anchored(element)

    def _aside(self, text: str, part: Part) -> None:
        if text.strip():
            self.blocks.append(Block(text.strip(), self._here, part, citable=False))

    def _anchored(self, element: Element) -> None:
        """What hangs on a paragraph: boxes, notes, and text that was deleted from it."""
        for child in element:
            if child.tag == _BOX:
                self.walk(child, Part.TEXTBOX)
            elif child.tag in _DELETED:
                self._aside("".join(t.text or "" for t in child.iter(f"{_W}delText", f"{_W}t")), Part.DELETED)
            elif child.tag in _REFERENCES:
                kind, part = _REFERENCES[child.tag]
                self._aside(self._notes.get(kind, {}).get(child.get(f"{_W}id", ""), ""), part)
            elif child.tag != _FALLBACK:
                self._anchored(child)

    def _table(self, element: Element, part: Part) -> None:
        within = Part.TABLE if part in {Part.BODY, Part.CONTENT_CONTROL} else part
        rows: list[list[str]] = []
        for row in element.iter(f"{_W}tr"):
            if next(row.iterancestors(f"{_W}tbl")) is not element:
                continue
            cells: list[str] = []
            for cell in row.iterchildren(f"{_W}tc", f"{_W}sdt"):
                cells += [_all_text(cell), *[""] * (_span(cell) - 1)]
            rows.append(cells)
            self._aside(" | ".join(filter(None, cells)), within)
            for paragraph in _paragraphs(row):
                self._anchored(paragraph)
        if within is Part.TABLE and len(rows) > 1 and any(map(any, rows)):
            self.tables.append(self._as_table(rows))

    def _as_table(self, rows: Sequence[Sequence[str]]) -> Table:
        width = min(max(map(len, rows)), columns.MAX_COLUMNS)
        header = [*rows[0], *[""] * (width - len(rows[0]))][:width]
        return Table(
            name=f"table {len(self.tables) + 1}",
            columns=columns.names(header),
            values=columns.transpose([row[:width] for row in rows[1:]], width),
            locators=[self._here] * (len(rows) - 1),
        )


def _text(paragraph: Element) -> str:
    """A paragraph's text as shown: with tracked insertions, without deletions and boxes."""
    return "".join(_pieces(paragraph))


def _pieces(element: Element) -> Iterator[str]:
    for child in element:
        if child.tag == f"{_W}t":
            yield child.text or ""
        elif child.tag in _MARKS:
            yield _MARKS[child.tag]
        elif child.tag not in _NOT_SHOWN and isinstance(child.tag, str):
            yield from _pieces(child)


def _all_text(element: Element) -> str:
    """The paragraphs within an element, one per line, without the empty ones and without boxes."""
    texts = (_text(paragraph) for paragraph in _paragraphs(element))
    return "\n".join(text for text in texts if text.strip())


def _paragraphs(element: Element) -> Iterator[Element]:
    for child in element:
        if child.tag == f"{_W}p":
            yield child
        elif child.tag not in _NOT_SHOWN and isinstance(child.tag, str):
            yield from _paragraphs(child)


def _boxes(element: Element) -> Iterator[Element]:
    """The boxes within an element, each once: a box has a second form for old programs."""
    for box in element.iter(_BOX):
        if not any(above.tag == _FALLBACK for above in box.iterancestors()):
            yield box


def _span(cell: Element) -> int:
    """The columns that a cell takes."""
    span = cell.find(f"{_W}tcPr/{_W}gridSpan")
    return 1 if span is None else min(int(span.get(f"{_W}val", "1")), columns.MAX_COLUMNS)
