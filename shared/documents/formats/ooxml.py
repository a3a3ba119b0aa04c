"""What xlsx and docx have in common: document properties and the text of drawings."""

from __future__ import annotations

from shared.documents.formats.container import Container, Element

_PROPERTIES = ("docProps/core.xml", "docProps/custom.xml")
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def local(element: Element) -> str:
    """An element's name without its namespace (transitional and strict OOXML differ in nothing else)."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def children(element: Element | None, name: str) -> list[Element]:
    """An element's children of a local name."""
    return [] if element is None else [child for child in element if local(child) == name]


def within(element: Element, name: str) -> list[Element]:
    """All elements of a local name below an element, in document order."""
    return list(element.iter(f"{{*}}{name}"))


def metadata(container: Container) -> dict[str, str]:
    """Title, author, dates and custom properties, as far as they are set."""
    result: dict[str, str] = {}
    for part in _PROPERTIES:
        root = container.xml_or_none(part)
        for element in () if root is None else root:
            text = "".join(map(str, element.itertext())).strip()
            if text:
                result[element.get("name") or local(element)] = text
    return result


def drawn_paragraphs(element: Element) -> list[str]:
    """The text of a drawing, paragraph by paragraph."""
    paragraphs = ("".join(t.text or "" for t in p.iter(f"{_DRAWING}t")) for p in element.iter(f"{_DRAWING}p"))
    return [paragraph for paragraph in paragraphs if paragraph.strip()]
