"""What ods and odt have in common: the text of paragraphs, metadata, headers and footers, encryption."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.documents.formats.container import Container, Element
from shared.errors import Unreadable

_BASE = "urn:oasis:names:tc:opendocument:xmlns"
OFFICE = f"{{{_BASE}:office:1.0}}"
TEXT = f"{{{_BASE}:text:1.0}}"
TABLE = f"{{{_BASE}:table:1.0}}"
DRAW = f"{{{_BASE}:drawing:1.0}}"
STYLE = f"{{{_BASE}:style:1.0}}"
META = f"{{{_BASE}:meta:1.0}}"
_MANIFEST = f"{{{_BASE}:manifest:1.0}}"

PARAGRAPHS = (f"{TEXT}p", f"{TEXT}h")
APART = {
    f"{OFFICE}annotation",
    f"{OFFICE}annotation-end",
    f"{TEXT}note",
    f"{DRAW}frame",
    f"{DRAW}custom-shape",
    f"{DRAW}g",
    f"{TEXT}tracked-changes",
    f"{TEXT}ruby-text",
}
"""Elements within a paragraph whose text is not the paragraph's own."""


def open_odf(data: bytes) -> tuple[Container, Element]:
    """The container and the root of its content.

    Raises:
        Unreadable: no OpenDocument file, damaged, encrypted, or a bomb.
    """
    container = Container(data, "content.xml")
    manifest = container.xml_or_none("META-INF/manifest.xml")
    if manifest is not None and next(manifest.iter(f"{_MANIFEST}encryption-data"), None) is not None:
        raise Unreadable("encrypted with a password")
    return container, container.xml("content.xml")


def paragraph_text(paragraph: Element) -> str:
    """The text of a paragraph as shown, without comments, notes and boxes that are anchored in it.

    White space in the XML is one space, and none at either end (OpenDocument 1.3, part 3, 6.1.2).
    """
    text = _SPACES.sub(" ", "".join(_pieces(paragraph))).strip(" ")
    return text.translate(_KEPT)


_SPACES = re.compile(r"[ \t\r\n]+")
_SPACE, _TAB, _BREAK = "\ue020", "\ue009", "\ue00a"
"""Stand for the spaces, tabs and line breaks that are elements, until white space is dealt with."""
_KEPT = str.maketrans({_SPACE: " ", _TAB: "\t", _BREAK: "\n"})


def _pieces(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag == f"{TEXT}s":
            yield _SPACE * min(int(child.get(f"{TEXT}c", "1")), 1000)
        elif child.tag == f"{TEXT}tab":
            yield _TAB
        elif child.tag == f"{TEXT}line-break":
            yield _BREAK
        elif isinstance(child.tag, str) and child.tag not in APART:
            yield from _pieces(child)
        yield child.tail or ""


def all_text(element: Element) -> str:
    """The text of all paragraphs within an element, one per line."""
    texts = (paragraph_text(paragraph) for paragraph in element.iter(*PARAGRAPHS))
    return "\n".join(text for text in texts if text.strip())


def own_text(element: Element) -> str:
    """The text of the paragraphs within an element, without what is anchored in them."""
    own = (
        paragraph_text(paragraph)
        for paragraph in element.iter(*PARAGRAPHS)
        if not any(above.tag in APART for above in paragraph.iterancestors())
    )
    return "\n".join(text for text in own if text.strip())


def metadata(container: Container) -> dict[str, str]:
    """Title, author, dates and user-defined properties, as far as they are set."""
    root = container.xml_or_none("meta.xml")
    result: dict[str, str] = {}
    for element in () if root is None else root.iterfind(f"{OFFICE}meta/*"):
        text = "".join(map(str, element.itertext())).strip()
        if text and isinstance(element.tag, str):
            name = element.get(f"{META}name") or element.tag.rpartition("}")[2]
            result[name] = f"{result[name]}, {text}" if name in result else text
    return result


def headers_and_footers(container: Container) -> Iterator[tuple[str, bool]]:
    """The texts of page headers (True) and footers (False)."""
    root = container.xml_or_none("styles.xml")
    for element in () if root is None else root.iter(f"{STYLE}header", f"{STYLE}footer"):
        text = all_text(element)
        if text and element.get(f"{STYLE}display") != "false":
            yield text, element.tag == f"{STYLE}header"
