"""Endpoints of other makes: what they leave out, add or turn down is understood, or asked for again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shared.errors import Refused
from tests.support.model import Playing
from tests.support.scripted import Behaviour, Connection, ScriptedServer, html, reply
from workers.model import tool, user

CHAT = "/chat/completions"
QUESTION = [user("What is this?")]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}

Play = Callable[..., Playing]


@pytest.fixture
def endpoint() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def said(content: Any = '{"a": 1}', finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A completion without usage, as small as they come."""
    return {
        "choices": [{"message": {"role": "assistant", "content": content, **more}, "finish_reason": finish}]
    }


def bodies(endpoint: ScriptedServer) -> list[dict[str, Any]]:
    return [request.json() for request in endpoint.seen("POST")]


@pytest.mark.parametrize(
    "answer",
    [
        b"\n\n         \n\n" + json.dumps(said()).encode(),
        b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + json.dumps(said()).encode(),
        b"\xef\xbb\xbf" + json.dumps(said()).encode(),
        said([{"type": "text", "text": '{"a"'}, {"type": "text", "text": ": 1}"}]),
        said(reasoning="Perhaps 2?", reasoning_details=[{"text": "or 3"}]),
        said("", reasoning_content='Clearly {"a": 1}.'),
        said('<think>{"a": 2, "b": "longer than what follows"}</think>\n{"a": 1}'),
        {**said(), "error": None, "usage": None},
    ],
    ids=["blank lines", "comments", "mark", "parts", "reasoning", "only thoughts", "think", "nulls"],
)
def test_what_stands_around_an_answer_does_not_matter(
    play: Play, endpoint: ScriptedServer, answer: Any
) -> None:
    endpoint.on("POST", CHAT, forever=reply(answer))
    assert play(endpoint.url).model.chat(QUESTION, schema=SCHEMA).parsed == {"a": 1}
    assert len(endpoint.seen("POST")) == 1


@pytest.mark.parametrize(
    "miss",
    [
        reply({"error": {"code": 429, "message": "rate limited upstream"}}),
        reply({"error": {"code": "502", "message": "bad gateway"}}),
        reply({"error": "overloaded"}),
        reply(said("", "error") | {"choices": [{"error": {"code": 502}, "message": {"content": ""}}]}),
        reply(said('{"a":', "error")),
        reply({"choices": []}),
        html(502),
    ],
    ids=["429 in 200", "text code", "text", "in the choice", "broke off", "no choices", "page"],
)
def test_a_failure_in_whatever_form_is_tried_again(
    play: Play, endpoint: ScriptedServer, miss: Behaviour
) -> None:
    endpoint.on("POST", CHAT, miss, forever=reply(said()))
    assert play(endpoint.url).model.chat(QUESTION, schema=SCHEMA).parsed == {"a": 1}
    assert len(endpoint.seen("POST")) == 2


def test_usage_that_is_missing_is_counted_and_never_free(play: Play, endpoint: ScriptedServer) -> None:
    endpoint.on(
        "POST", CHAT, reply(said("word " * 300)), forever=reply(said() | {"usage": {"cost": "0.002"}})
    )
    task = play(endpoint.url, settings={"model_price": "1/2"})
    model = task.model
    counted = model.chat([user("word " * 600)])
    assert 800 < counted.usage.tokens_in < 1300
    assert 400 < counted.usage.tokens_out < 600
    assert counted.cost == counted.usage.tokens_in + 2 * counted.usage.tokens_out
    assert model.chat(QUESTION).cost == 2000
    assert task.pool.spend.totals(task.ref).settled == counted.cost + 2000


def picky(takes: Callable[[dict[str, Any]], str | None], status: int = 400) -> Behaviour:
    """An endpoint that turns down what ``takes`` names."""

    def behave(connection: Connection) -> bool:
        wrong = takes(connection.request.json())
        error = {"error": {"message": wrong, "type": "invalid_request_error"}}
        return (reply(error, status=status) if wrong else reply(said()))(connection)

    return behave


def test_an_endpoint_without_schemas_is_asked_without_and_remembered(
    play: Play, endpoint: ScriptedServer
) -> None:
    endpoint.on(
        "POST", CHAT, forever=picky(lambda body: "Bad request" if "response_format" in body else None)
    )
    model = play(endpoint.url).model
    assert [model.chat(QUESTION, schema=SCHEMA).parsed for _ in range(2)] == [{"a": 1}] * 2
    forms = [body.get("response_format", {}).get("type") for body in bodies(endpoint)]
    assert forms == ["json_schema", "json_schema", "json_object", None, None]


def test_a_schema_that_is_not_strict_enough_is_sent_as_a_wish(play: Play, endpoint: ScriptedServer) -> None:
    def strict(body: dict[str, Any]) -> str | None:
        form = body["response_format"]
        if form["type"] == "json_schema" and form["json_schema"].get("strict"):
            return "Invalid schema for response_format 'answer': 'additionalProperties' is required"
        return None

    endpoint.on("POST", CHAT, forever=picky(strict))
    model = play(endpoint.url).model
    assert [model.chat(QUESTION, schema=SCHEMA).parsed for _ in range(2)] == [{"a": 1}] * 2
    assert [body["response_format"]["type"] for body in bodies(endpoint)] == ["json_schema"] * 3


def test_schema_and_tools_together_may_be_too_much_and_each_alone_is_not(
    play: Play, endpoint: ScriptedServer
) -> None:
    def one(body: dict[str, Any]) -> str | None:
        return "tools cannot be combined with JSON" if {"tools", "response_format"} <= body.keys() else None

    endpoint.on("POST", CHAT, forever=picky(one))
    model = play(endpoint.url).model
    model.chat(QUESTION, schema=SCHEMA, tools=[tool("t", "a tool", {"type": "object"})])
    model.chat(QUESTION, schema=SCHEMA)
    last = bodies(endpoint)[-1]
    assert last["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("name", "words", "instead"),
    [
        ("max_tokens", "Use 'max_completion_tokens' instead.", {"max_completion_tokens": 70}),
        ("temperature", "'temperature' does not support 0 with this model.", {}),
        ("seed", "Unsupported parameter: seed", {}),
    ],
)
def test_a_parameter_that_is_turned_down_by_name_is_left_out(
    play: Play, endpoint: ScriptedServer, name: str, words: str, instead: dict[str, int]
) -> None:
    endpoint.on("POST", CHAT, forever=picky(lambda body: words if name in body else None))
    model = play(endpoint.url).model
    for _ in range(2):
        assert model.chat(QUESTION, max_tokens=70).text
    first, *others = bodies(endpoint)
    assert len(others) == 2
    for body in others:
        assert body == {key: value for key, value in first.items() if key != name} | instead


def test_a_request_that_is_wrong_in_any_wording_is_refused_with_the_first_reason(
    play: Play, endpoint: ScriptedServer
) -> None:
    endpoint.on("POST", CHAT, forever=reply({"error": {"message": "prompt is too long"}}, status=400))
    task = play(endpoint.url)
    with pytest.raises(Refused, match="too long"):
        task.model.chat(QUESTION, schema=SCHEMA)
    assert len(endpoint.seen("POST")) <= 4
    assert task.pool.spend.totals(task.ref).usd == 0


def test_thoughts_that_used_up_the_answer_s_length_are_an_answer(
    play: Play, endpoint: ScriptedServer
) -> None:
    endpoint.on("POST", CHAT, forever=reply(said(None, "length", reasoning="So many {} thoughts")))
    answer = play(endpoint.url).model.chat(QUESTION, schema=SCHEMA)
    assert (answer.text, answer.finish, answer.parsed) == ("", "length", None)
    assert len(endpoint.seen("POST")) == 1


def test_a_model_that_never_says_anything_is_no_outage(
    play: Play, endpoint: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.model.model.TRIES", 2)
    usage = {"prompt_tokens": 10, "completion_tokens": 0, "cost": 0.0001}
    endpoint.on("POST", CHAT, forever=reply(said("") | {"usage": usage}))
    task = play(endpoint.url)
    with pytest.raises(Refused, match="without content"):
        task.model.chat(QUESTION)
    assert task.pool.spend.totals(task.ref).settled == 100 * len(endpoint.seen("POST"))


def test_a_filter_s_stop_is_a_refusal(play: Play, endpoint: ScriptedServer) -> None:
    endpoint.on("POST", CHAT, forever=reply(said("", "content_filter")))
    answer = play(endpoint.url).model.chat(QUESTION)
    assert answer.refusal
    assert len(endpoint.seen("POST")) == 1


def test_a_model_without_eyes_refuses_the_image_not_the_setting(play: Play, endpoint: ScriptedServer) -> None:
    error = {"error": {"code": 404, "message": "No endpoints found that support image input"}}
    endpoint.on("POST", CHAT, forever=reply(error, status=404))
    with pytest.raises(Refused):
        play(endpoint.url).model.chat([user("Read.", [b"\x89PNG"])])
