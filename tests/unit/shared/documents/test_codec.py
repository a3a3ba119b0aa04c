"""Documents into bytes and back."""

from __future__ import annotations

import json
import zlib
from datetime import date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.documents import codec
from shared.documents.document import Block, Detail, Document, Fault, Part, Table, Value
from shared.documents.locators import NOWHERE, Locator

VALUES: st.SearchStrategy[Value] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(),
    st.dates(), st.datetimes(), st.times(), st.timedeltas(), st.builds(Fault, st.text()),
    st.lists(st.integers(), max_size=3), st.dictionaries(st.text(), st.text(), max_size=3),
)  # fmt: skip
TEXTS = st.none() | st.text(max_size=5)
NUMBERS = st.none() | st.integers(1, 9)
LOCATORS = st.builds(
    Locator, page=NUMBERS, record=TEXTS, sheet=TEXTS, row=NUMBERS, paragraph=NUMBERS, line=NUMBERS
)
BLOCKS = st.builds(
    Block, st.text(), LOCATORS, st.sampled_from(Part), st.booleans(), st.none() | st.integers(1)
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width, height = draw(st.integers(1, 3)), draw(st.integers(0, 4))
    columns = [draw(st.lists(VALUES, min_size=height, max_size=height)) for _ in range(width)]
    details = st.dictionaries(
        st.tuples(st.integers(0, 3), st.integers(0, 2)), st.builds(Detail, TEXTS, TEXTS)
    )
    return Table(
        name=draw(st.text()),
        columns=tuple(f"c{n}" for n in range(width)),
        values=tuple(columns),
        locators=draw(st.lists(LOCATORS, min_size=height, max_size=height)),
        lines=draw(st.just([]) | st.lists(st.integers(1), min_size=height, max_size=height)),
        header=draw(st.none() | st.integers(1)),
        sheet=draw(TEXTS),
        hidden=draw(st.booleans()),
        hidden_rows=draw(st.frozensets(st.integers(0, 3))),
        details=draw(details),
    )


@given(st.lists(BLOCKS, max_size=5), st.lists(tables(), max_size=2), st.none() | st.text())
def test_a_document_comes_back_as_it_was(
    blocks: list[Block], tables: list[Table], unreadable: str | None
) -> None:
    document = Document("xlsx", blocks, tables, {"pages": 3}, unreadable)

    back = codec.load(codec.dump(document))

    assert (back.format, back.facts, back.unreadable) == (
        document.format,
        document.facts,
        document.unreadable,
    )
    assert list(back.blocks) == blocks
    assert list(back.tables) == tables


@pytest.mark.parametrize(
    "value",
    [True, 1, 1.0, date(2026, 1, 2), datetime(2026, 1, 2), time(3), timedelta(2), Fault("#N/A"), {"date": 1}],
)
def test_a_value_keeps_its_type(value: Value) -> None:
    table = Table("", ("c",), ([value],), [NOWHERE])

    ((back,),) = codec.load(codec.dump(Document("json", tables=[table]))).tables[0].values

    assert (type(back), back) == (type(value), value)


def test_loading_decodes_nothing_but_the_head() -> None:
    blocks = [Block("x" * 1000, Locator(line=n)) for n in range(1, 10_001)]
    stored = codec.dump(Document("txt", blocks))

    document = codec.load(stored)

    assert len(document.blocks) == 10_000
    assert isinstance(document.blocks, codec.Later)
    assert document.blocks._items is None
    assert document.blocks[9_999].locator.line == 10_000


def test_damaged_bytes_are_noticed() -> None:
    stored = bytearray(codec.dump(Document("txt", [Block("words")])))
    stored[-3] ^= 1

    with pytest.raises(ValueError, match="damaged"):
        codec.load(bytes(stored))
    with pytest.raises(ValueError, match="not a stored document"):
        codec.load(b"")
    with pytest.raises(ValueError, match="not a stored document"):
        codec.load(zlib.compress(json.dumps({}).encode()))
