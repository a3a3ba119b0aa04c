"""JSON Lines: one object per line, cited by line. A broken line stays as text with its number."""

from __future__ import annotations

from shared.documents.document import JSON, Block, Document, Table
from shared.documents.encoding import decode, lines
from shared.documents.formats import text
from shared.documents.formats.columns import columns_for, names
from shared.documents.formats.json import loads
from shared.documents.locators import Locator

_NAMED_PROBLEMS = 20


def parse(data: bytes) -> Document:
    """Read a file of JSON lines. Lines that hold no object are blocks but no rows."""
    decoded = decode(data)
    blocks: list[Block] = []
    objects: list[dict[str, JSON]] = []
    locators: list[Locator] = []
    broken: list[str] = []
    for number, line in enumerate(lines(decoded.text), 1):
        if not line.strip():
            continue
        locator = Locator(line=number)
        blocks.append(Block(line, locator))
        try:
            value = loads(line)
        except ValueError as error:
            broken.append(f"line {number} is not JSON: {error}")
            continue
        if isinstance(value, dict):
            objects.append(value)
            locators.append(locator)
    facts = text.facts(decoded)
    problems = [*facts.pop("problems", ()), *broken[:_NAMED_PROBLEMS]]
    if len(broken) > _NAMED_PROBLEMS:
        problems.append(f"{len(broken) - _NAMED_PROBLEMS} more lines are not JSON")
    keys = list(dict.fromkeys(key for item in objects for key in item))
    most = columns_for(len(objects))
    if len(keys) > most:
        problems.append(f"{len(keys)} different fields: only the first {most} became columns")
        keys = keys[:most]
    if problems:
        facts["problems"] = problems
    values = tuple([item.get(key) for item in objects] for key in keys)
    tables = (Table("", names(keys), values, locators),) if keys else ()
    return Document("jsonl", blocks, tables, facts)
