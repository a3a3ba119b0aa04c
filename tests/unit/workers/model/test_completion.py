"""Answers of several endpoints are read alike, and nothing in them is taken for granted."""

from __future__ import annotations

import json

import pytest

from workers.model.completion import Completion
from workers.model.prices import Price
from workers.model.reply import Usage


def read(message: object, **more: object) -> Completion:
    return Completion.read(json.dumps({"choices": [{"message": message}], **more}).encode())


def test_openrouters_usage_and_provider_are_read() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 64},
        "cost": 0.00123,
    }
    completion = read({"content": "yes"}, usage=usage, provider="Fireworks", model="m")
    assert completion.usage == Usage(100, 64, 7)
    assert completion.cost(Price(9, 9, 9)) == 1230
    assert (completion.provider, completion.model, completion.text) == ("Fireworks", "m", "yes")


def test_without_a_cost_in_the_answer_the_price_says_it() -> None:
    completion = read({"content": "yes"}, usage={"prompt_tokens": 100, "completion_tokens": 10})
    assert completion.cost(Price(1, 1, 2)) == 120


def test_tool_calls_with_broken_arguments_keep_them_as_text() -> None:
    calls = [
        {"id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}},
        {"id": "b", "function": {"name": "g", "arguments": '{"x": '}},
        {"function": {"name": "h", "arguments": {"x": 2}}},
    ]
    first, second, third = read({"content": None, "tool_calls": calls}).tool_calls
    assert (first.name, first.args) == ("f", {"x": 1})
    assert (second.args, second.arguments) == (None, '{"x": ')
    assert (third.id, third.args) == ("call-2", {"x": 2})


def test_content_in_parts_is_one_text() -> None:
    assert read({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}).text == "ab"


@pytest.mark.parametrize("message", [{}, {"content": None}, {"content": " \n"}, {"content": []}])
def test_an_answer_that_says_nothing_is_empty(message: object) -> None:
    assert read(message).empty
    assert not read({"refusal": "no"}).empty


@pytest.mark.parametrize("raw", [b"[]", b"{}", b'{"choices": []}', b'{"choices": [{}]}', b"<html>", b'"x"'])
def test_what_is_no_completion_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"no |Expecting"):
        Completion.read(raw)


@pytest.mark.parametrize(
    "usage", [None, [], {"prompt_tokens": "many", "cost": "free", "completion_tokens": -1}]
)
def test_odd_usage_counts_nothing(usage: object) -> None:
    completion = read({"content": "yes"}, usage=usage)
    assert (completion.usage, completion.cost_usd) == (Usage(), None)
