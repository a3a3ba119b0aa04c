"""Every golden file against what its expectation says: blocks, locators, tables, values, facts.

An expectation (`NAME.expected.json`) is written by hand. A block is ``[text, place, part]`` with the place as
``str(locator)``, ``near …`` where the text has no locator of its own, and the physical line where it is kept
beside; a row is its place and its values. Only what an expectation names is compared; metadata is left out
of the blocks.
"""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.documents import codec
from shared.documents.document import Block, Document, Fault, Part, Table, Value
from shared.documents.registry import parse
from shared.errors import Unreadable

GOLDEN = Path(__file__).parents[3] / "golden"
EXPECTATIONS = sorted(GOLDEN.glob("**/*.expected.json"))


@pytest.mark.parametrize("path", EXPECTATIONS, ids=lambda path: path.name.removesuffix(".expected.json"))
def test_a_golden_file_is_read_as_expected(path: Path) -> None:
    expected = json.loads(path.read_text())
    source = path.with_name(path.name.removesuffix(".expected.json"))
    if "unreadable" in expected:
        with pytest.raises(Unreadable, match=expected["unreadable"]):
            parse(source.read_bytes(), source.name)
        return

    document = parse(source.read_bytes(), source.name)

    compare(document, expected)
    compare(codec.load(codec.dump(document)), expected)


def test_every_golden_file_has_an_expectation() -> None:
    files = {p for p in GOLDEN.glob("**/*.*") if p.is_file() and "sources" not in p.parts}
    told = {path.with_name(path.name.removesuffix(".expected.json")) for path in EXPECTATIONS}

    assert files - told - set(EXPECTATIONS) == {
        GOLDEN / "make.py", GOLDEN / "README.md", GOLDEN / "foreign/README.md"
    }  # fmt: skip


def compare(document: Document, expected: dict[str, Any]) -> None:
    """Fail where the document differs from its expectation."""
    blocks = [as_told(block) for block in document.blocks if block.part is not Part.METADATA]
    if "blocks" in expected:
        assert blocks == expected["blocks"]
    for start, place in expected.get("starts", ()):
        assert any(text.startswith(start) and at == place for text, at, _ in blocks), blocks
    for told in expected.get("holds", ()):
        assert told in blocks
    if "tables" in expected:
        assert [as_row_lists(t) for t in document.tables] == [
            (
                t["name"],
                t["columns"],
                t["header"],
                t.get("hidden", False),
                t.get("hidden_rows", []),
                t["rows"],
            )
            for t in expected["tables"]
        ]
    for table, told_table in zip(document.tables, expected.get("tables", ()), strict=False):
        assert list(table.lines) == told_table.get("lines", list(table.lines))
        for at, detail in told_table.get("details", {}).items():
            row, column = map(int, at.split())
            cell = table.cell(row, column)
            assert {name: getattr(cell.detail, name) for name in detail} == detail
            assert cell.shown == detail.get("shown", cell.shown)
    for name, value in expected.get("facts", {}).items():
        assert document.facts[name] == value
    metadata = [block.text for block in document.blocks if block.part is Part.METADATA]
    assert set(expected.get("metadata", ())) <= set(metadata)


def as_told(block: Block) -> list[str]:
    near = "" if block.citable else "near "
    line = f" (line {block.line})" if block.line is not None else ""
    return [block.text, f"{near}{block.locator}{line}", block.part.value]


def as_row_lists(table: Table) -> tuple[object, ...]:
    rows = [[str(place), *map(as_json, row)] for place, row in zip(table.locators, table.rows(), strict=True)]
    return table.name, list(table.columns), table.header, table.hidden, sorted(table.hidden_rows), rows


def as_json(value: Value) -> object:
    match value:
        case datetime():
            return {"datetime": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case time():
            return {"time": value.isoformat()}
        case timedelta():
            return {"duration": value.total_seconds()}
        case Fault():
            return {"fault": value.text}
        case list() | dict():
            return {"json": value}
    return value
