"""Damaged files: every golden file, broken in every way, is read or refused, and nothing else happens."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.documents import codec
from shared.documents.sandbox import Parsers
from tests.support.examples import examples

GOLDEN = Path(__file__).parents[3] / "golden"
FILES = sorted(
    p for p in GOLDEN.glob("**/*.*") if p.suffix not in {".py", ".md"} and "sources" not in p.parts
)
FILES = [path for path in FILES if not path.name.endswith(".expected.json")] + [GOLDEN / "guide.md"]
ZIPPED = [path for path in FILES if path.suffix in {".xlsx", ".ods", ".docx", ".odt"}]
LIMIT = 8.0


@pytest.fixture(scope="module")
def parsers() -> Iterator[Parsers]:
    with Parsers(seconds=LIMIT) as parsers:
        parsers.warm()
        yield parsers


@st.composite
def damage(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with some of them changed, left out, repeated or cut off."""
    result = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(result)))
        length = draw(st.integers(0, 40))
        match draw(st.sampled_from(["change", "drop", "repeat", "cut"])):
            case "change":
                result[start : start + length] = draw(st.binary(min_size=1, max_size=12))
            case "drop":
                del result[start : start + length]
            case "repeat":
                result[start:start] = result[start : start + length] * draw(st.integers(1, 50))
            case "cut":
                del result[max(start, 1) :]
    return bytes(result)


@st.composite
def damaged_files(draw: st.DrawFn) -> tuple[str, bytes]:
    """A golden file, damaged from outside."""
    path = draw(st.sampled_from(FILES))
    return path.name, draw(damage(path.read_bytes()))


@st.composite
def damaged_members(draw: st.DrawFn) -> tuple[str, bytes]:
    """A golden office file of which one member was damaged, and zipped again without a trace."""
    path = draw(st.sampled_from(ZIPPED))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = draw(st.sampled_from(sorted(name for name in members if name.endswith((".xml", ".rels")))))
    members[name] = draw(damage(members[name]))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return path.name, target.getvalue()


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged_files() | damaged_members())
def test_a_damaged_file_is_read_or_refused_within_its_limit(
    parsers: Parsers, file: tuple[str, bytes]
) -> None:
    name, data = file
    started = time.monotonic()

    document = codec.load(parsers.parse_stored(data, name))

    assert time.monotonic() - started < LIMIT + 1
    assert document.unreadable is None or "exit 1" not in document.unreadable, document.unreadable
    assert len(list(document.blocks)) == len(document.blocks)
    for table in document.tables:
        assert all(len(column) == len(table.locators) for column in table.values)


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted({path.suffix for path in FILES})), st.binary(max_size=300))
def test_any_bytes_under_any_name_are_read_or_refused(parsers: Parsers, suffix: str, data: bytes) -> None:
    document = codec.load(parsers.parse_stored(data, f"file{suffix}"))

    assert document.unreadable is None or "exit 1" not in document.unreadable, document.unreadable
