"""The shapes that JSON documents come in, and where their records are."""

from __future__ import annotations

import json

import pytest

from shared.documents.document import Document
from shared.documents.registry import parse


def read(value: object) -> Document:
    return parse(json.dumps(value, indent=1).encode(), "x.json")


def records(document: Document) -> list[tuple[str | None, int | None]]:
    return [(block.locator.record, block.line) for block in document.blocks]


def test_a_list_of_records_is_cited_by_id_and_knows_its_lines() -> None:
    assert records(read([{"id": "a", "n": 1}, {"id": 7}])) == [("a", 2), ("7", 6)]


def test_an_object_with_lists_has_a_table_per_list() -> None:
    document = read({"agents": [{"id": "a"}], "hosts": [{"id": "h"}]})

    assert [table.name for table in document.tables] == ["agents", "hosts"]
    assert [record for record, _ in records(document)] == ["a", "h"]


def test_an_object_keyed_by_ids_is_a_table_of_records() -> None:
    document = read({"agent-1": {"role": "x"}, "agent-2": {"role": "y"}})

    assert list(document.tables[0].rows()) == [("agent-1", "x"), ("agent-2", "y")]
    assert [record for record, _ in records(document)] == ["agent-1", "agent-2"]


def test_an_id_field_counts_for_more_than_the_key() -> None:
    document = read({"x": {"id": "A", "n": 1}, "y": {"n": 2}})

    assert [record for record, _ in records(document)] == ["A", "y"]


def test_objects_of_different_kinds_are_not_records() -> None:
    document = read({"settings": {"theme": "dark"}, "limits": {"rate": 5, "burst": 9}})

    assert [(block.text, block.citable) for block in document.blocks] == [
        ('{"settings.theme": "dark"}', False), ('{"limits.rate": 5}', False), ('{"limits.burst": 9}', False)
    ]  # fmt: skip


def test_values_and_lists_under_ids_are_records_too() -> None:
    states = read({"agent-1": "up", "agent-2": "down"})
    groups = read({"agent-1": [{"what": "in"}, {"what": "out"}], "agent-2": [{"what": "in"}]})

    assert list(states.tables[0].rows()) == [("agent-1", "up"), ("agent-2", "down")]
    assert list(groups.tables[0].rows()) == [("agent-1", "in"), ("agent-1", "out"), ("agent-2", "in")]
    assert [locator.record for locator in groups.tables[0].locators] == ["agent-1", "agent-1", "agent-2"]


def test_records_within_records_have_a_table_that_names_their_parent() -> None:
    document = read(
        [{"id": "a", "tokens": [{"id": "t1"}, {"id": "t2"}]}, {"id": "b", "tokens": [{"id": "t3"}]}]
    )

    assert list(document.tables[1].rows()) == [("a", "t1"), ("a", "t2"), ("b", "t3")]
    assert [record for record, _ in records(document)] == ["a", "t1", "t2", "b", "t3"]


def test_details_without_ids_are_cited_by_the_record_around_them() -> None:
    document = read([{"id": "a", "changes": [{"field": "x", "to": 1}]}, {"id": "b"}])

    assert [record for record, _ in records(document)] == ["a", "b"]
    assert '"changes"' in document.blocks[0].text
    assert [locator.record for locator in document.tables[1].locators] == ["a"]


def test_a_first_field_that_tells_records_apart_is_their_id() -> None:
    assert records(read([{"name": "x"}, {"name": "y"}])) == [("x", 2), ("y", 5)]
    assert records(read([{"kind": "x"}, {"kind": "x"}])) == [(None, 2), (None, 5)]


def test_a_repeated_key_counts_with_its_last_value() -> None:
    document = parse(b'{"a": [{"id": 1}],\n "a": [{"id": 2}]}', "x.json")

    assert records(document) == [("2", 2)]


@pytest.mark.parametrize("data", [b'{"a": 1,}', b"", b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}", b"{} {}"])
def test_what_is_no_json_stays_readable_as_text(data: bytes) -> None:
    document = parse(data, "x.json")

    assert document.facts["problems"][0].startswith("not valid JSON")
    assert "".join(block.text for block in document.blocks) == data.decode()


def test_lone_surrogates_do_not_come_out() -> None:
    document = parse(rb'[{"id": "a\ud800b", "n": "\ud83d\ude00"}]', "x.json")

    assert list(document.tables[0].rows()) == [("a�b", "😀")]


def test_records_too_deep_stay_values() -> None:
    value: object = [{"id": "deep"}]
    for _ in range(12):
        value = {"in": value}

    (block,) = read(value).blocks

    assert block.locator.record is None
    assert '"deep"' in block.text
