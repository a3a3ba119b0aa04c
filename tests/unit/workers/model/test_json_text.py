"""JSON is found in what models say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from workers.model.json_text import find


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("[1, 2]", [1, 2]),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('<think>maybe {x} or {"b": 0}?</think>\n{"a": {"b": [1, 2]}}', {"a": {"b": [1, 2]}}),
        ('Sure [1]: {"a": "} not the end {"} Done.', {"a": "} not the end {"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": 1', None),
        ("no JSON", None),
        ("", None),
    ],
)
def test_the_largest_json_is_found(text: str, expected: object) -> None:
    assert find(text) == expected


def test_many_openings_that_lead_nowhere_end_soon() -> None:
    assert find("{" * 100_000) is None
    assert find("[" * 100_000) is None


@settings(max_examples=examples(50))
@given(
    st.dictionaries(st.text(), st.lists(st.text() | st.integers() | st.none()), min_size=1),
    st.text(st.characters(exclude_characters="{[")),
)
def test_any_object_is_found_in_any_talk(value: dict[str, object], talk: str) -> None:
    assert find(f"{talk}\n{json.dumps(value)}\n{talk}") == value
