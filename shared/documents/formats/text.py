"""Plain text: every line that is not blank is a block, located by its line."""

from __future__ import annotations

from shared.documents.document import JSON, Block, Document
from shared.documents.encoding import Text, decode, lines
from shared.documents.locators import Locator


def parse(data: bytes) -> Document:
    """Read a text file; every sequence of bytes is one."""
    text = decode(data)
    blocks = tuple(
        Block(line, Locator(line=number)) for number, line in enumerate(lines(text.text), 1) if line.strip()
    )
    return Document("txt", blocks, facts=facts(text))


def facts(text: Text) -> dict[str, JSON]:
    """The facts that all text formats share: lines, encoding, and what was wrong with the latter."""
    result: dict[str, JSON] = {"lines": len(lines(text.text)), "encoding": text.encoding}
    if text.repaired:
        result["problems"] = [f"not all bytes are proper UTF text; they were read as {text.encoding}"]
    return result
