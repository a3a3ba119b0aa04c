"""`agent` with models of other makes: whatever they say, the task ends with the best that comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shared.errors import NotAuthorised, Unavailable
from shared.models import Solution, Source
from shared.pool.pool import Pool
from tests.support.model import Playing, playing
from tests.support.scripted import Behaviour, Connection, ScriptedServer, reply
from workers.solvers.agent import Agent
from workers.testing import local_context, task

CHAT = "/chat/completions"
PICTURE = b"\x89PNG of a shed"
FILES = {
    "/shed.png": PICTURE,
    "/AGENTS.md": b"# Desk\n\nThe list is `/engines.csv`.\n\n- **R1** Count all.\n",
    "/engines.csv": b"engine,shed\nE-1,North\nE-2,South\nE-3,South\n",
}
QUESTION = "How many engines stand in the shed South? Answer with a number."
QUERY = "SELECT count(*) FROM engines WHERE shed = 'South'"
STEP = {"kind": "sql", "query": QUERY, "name": "n", "shape": "value", "cite": "all"}
FIND = {"kind": "find", "path": "/AGENTS.md", "cite": True}
PLAN: dict[str, Any] = {
    "outcome": "OK",
    "reason": "counted",
    "steps": [STEP],
    "answer": "$n",
    "form": {"kind": "number"},
    "effects": [],
}
RIGHT = Solution(
    answer=2, sources=(Source(path="/engines.csv", record="E-2"), Source(path="/engines.csv", record="E-3"))
)


@pytest.fixture
def endpoint() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def solve(pool: Pool, endpoint: ScriptedServer) -> Iterator[Callable[..., Solution]]:
    """Play the question; the model is the scripted endpoint."""
    played: list[Playing] = []

    def solve(seconds: float = 60.0, **values: Any) -> Solution:
        playing_ = playing(pool, endpoint.url, settings={"model_price": "1/2"}, **values)
        playing_.seconds = seconds
        played.append(playing_)
        context = local_context(FILES, model=playing_.model, seconds=seconds)
        return Agent().solve(task(QUESTION, level=2), context)

    yield solve
    for each in played:
        each.models.close()


def said(content: Any, finish: str = "stop", **more: Any) -> Behaviour:
    message = {"role": "assistant", "content": content, **more}
    return reply({"choices": [{"message": message, "finish_reason": finish}]})


def plan(**changes: Any) -> str:
    return json.dumps({**PLAN, **changes})


def call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    "answer",
    [
        said(f"Here is my plan:\n```json\n{plan()}\n```\nShall I go on?"),
        said(f"<think>First {{}} then [1]</think>{plan()}"),
        said(plan(confidence=0.9, notes=["x"], steps=[{**STEP, "comment": "y"}])),
        said(plan(reason=None, effects=None, read=None, form=None, steps=[{**STEP, "tables": None}])),
        said(plan(form="number", read="", outcome="ok", steps=[{**STEP, "cite": True}])),
        said(plan(form={"kind": "number", "digits": "0", "order": None})),
        said(plan(steps=[{**STEP, "tables": {"engines": "/engines.csv"}}])),
        said(json.dumps({"plan": PLAN})),
        said(json.dumps([PLAN])),
        said(plan(steps=[{**STEP, "query": QUERY + ";\n"}])),
        said(None, "tool_calls", tool_calls=[call("plan", plan())]),
        said([{"type": "text", "text": plan()}]),
        said("", reasoning=f"I say {plan()}"),
    ],
    ids=[
        *("fences", "thoughts", "more fields", "nulls", "short forms", "numbers as texts", "table as path"),
        *("wrapped", "listed", "semicolon", "tool call", "parts", "reasoning"),
    ],
)
def test_a_plan_is_understood_at_once_in_whatever_form_it_comes(
    solve: Callable[..., Solution], endpoint: ScriptedServer, answer: Behaviour
) -> None:
    endpoint.on("POST", CHAT, forever=answer)
    assert solve() == RIGHT
    assert len(endpoint.seen("POST")) == 1


def asks_well(request: dict[str, Any]) -> str | None:
    """What a strict endpoint finds wrong with a conversation."""
    messages = request["messages"]
    for place, message in enumerate(messages):
        called = [each["id"] for each in message.get("tool_calls", [])]
        answered = [each.get("tool_call_id") for each in messages[place + 1 : place + 1 + len(called)]]
        if called != answered:
            return "each tool call must be followed by its result"
        if not message.get("content") and not called:
            return "text content must be non-empty"
    return None


@pytest.mark.parametrize(
    "first",
    [
        said("I am sorry, I cannot do that."),
        said(None, refusal="I will not."),
        said("", "content_filter"),
        said("42"),
        said(plan()[:-80], "length"),
        said(None, "length", reasoning="Let me think"),
        said(None, "tool_calls", tool_calls=[call("search", '{"q": "South"}')]),
        said(plan(steps=[{"kind": "python", "code": "1+1"}])),
        said(plan(steps=[{**STEP, "query": "SELECT nothing FROM nowhere"}])),
        said(plan(outcome="MAYBE")),
        said(json.dumps({"outcome": "OK", "steps": "none"})),
    ],
    ids=[
        *("prose", "refusal", "filter", "number", "cut off", "only thoughts", "a tool that nobody offered"),
        *("unknown step", "wrong query", "unknown outcome", "steps as text"),
    ],
)
def test_what_is_no_plan_goes_back_in_a_conversation_that_a_strict_endpoint_takes(
    solve: Callable[..., Solution], endpoint: ScriptedServer, first: Behaviour
) -> None:
    faults: list[str] = []

    def second(connection: Connection) -> bool:
        if wrong := asks_well(connection.request.json()):
            faults.append(wrong)
        return said(plan())(connection)

    endpoint.on("POST", CHAT, first, forever=second)
    assert solve() == RIGHT
    assert faults == []
    assert len(endpoint.seen("POST")) == 2


def test_a_plan_that_was_cut_off_gets_more_room(
    solve: Callable[..., Solution], endpoint: ScriptedServer
) -> None:
    endpoint.on("POST", CHAT, said(None, "length"), said(plan()[:40], "length"), forever=said(plan()))
    assert solve() == RIGHT
    first, second, third = (request.json()["max_tokens"] for request in endpoint.seen("POST"))
    assert (second, third) == (2 * first, 4 * first)


@pytest.mark.parametrize(
    "always",
    [
        said("No."),
        said(None, refusal="No."),
        said(plan()[:-80], "length"),
        said(None, "tool_calls", tool_calls=[call("look_up", "{}")]),
        said(json.dumps({"outcome": "OK", "steps": [], "answer": None})),
        reply({"error": {"message": "context length exceeded"}}, status=400),
    ],
    ids=["prose", "refusal", "cut off", "tool calls", "empty plan", "rejected"],
)
def test_a_model_that_is_of_no_use_costs_little_and_loses_no_task(
    solve: Callable[..., Solution], endpoint: ScriptedServer, always: Behaviour
) -> None:
    endpoint.on("POST", CHAT, forever=always)
    assert solve().outcome
    assert len(endpoint.seen("POST")) <= 12


@pytest.mark.parametrize(
    "text",
    [
        '{"outcome": "OK", "steps": [], "answer": "\\ud800"}',
        '{"outcome": "OK", "steps": [], "answer": NaN}',
        '{"outcome": "OK", "steps": [], "answer": "1e999", "form": {"kind": "number", "digits": 2}}',
        '{"outcome": "OK", "steps": [], "answer": ' + "[" * 600 + "]" * 600 + "}",
        '{"read": ["/\\ud800"]}',
        plan(answer="123456789012345678901234567890", form={"kind": "number", "digits": 12}),
        plan(steps=[{**STEP, "query": "SELECT '\ud800'"}]),
        plan(steps=[{**STEP, "query": "SELECT 1 AS x, '/engines.csv' AS _path, 'first' AS _line"}]),
        plan(steps=[{**STEP, "query": "SELECT repeat('x', 300000)"}], form=None),
        plan(steps=[{**STEP, "name": f"n{number}"} for number in range(2000)]),
        plan(steps=[{"kind": "given", "name": "p", "value": [1]}, {**FIND, "pattern": "$p"}]),
        plan(steps=[{"kind": "tool", "tool": "read", "args": {"name": 5, "self": None}}]),
        plan(
            effects=[
                {
                    "tool": "containment",
                    "args": {"ops": [1, None, {"op": {}}, {"op": "release", "agent": [1]}]},
                }
            ]
        ),
        plan(effects=[{"tool": "send_message", "args": {"to": {"a": 1}, "subject": None, "body": "\ud800"}}]),
    ],
    ids=[
        *("half a character", "nan", "infinite", "nested", "odd path", "too large a number", "odd query"),
        *(
            "odd place",
            "long text",
            "many steps",
            "list as pattern",
            "odd arguments",
            "odd operations",
            "odd mail",
        ),
    ],
)
def test_what_no_code_can_carry_out_is_the_plan_s_fault_and_not_the_task_s(
    solve: Callable[..., Solution], endpoint: ScriptedServer, text: str
) -> None:
    endpoint.on("POST", CHAT, forever=said(text))
    solution = solve()
    assert Solution.model_validate_json(solution.model_dump_json()) == solution


def test_a_finished_answer_in_place_of_a_plan_is_the_best_there_is(
    solve: Callable[..., Solution], endpoint: ScriptedServer
) -> None:
    finished = {"outcome": "OK", "answer": 2, "sources": [{"path": "/engines.csv", "record": "E-2"}]}
    endpoint.on("POST", CHAT, forever=said(json.dumps(finished)))
    solution = solve()
    assert (solution.outcome, solution.answer) == ("OK", 2)
    assert solution.sources == ()


def test_what_a_plan_found_before_it_broke_off_is_submitted_at_last(
    solve: Callable[..., Solution], endpoint: ScriptedServer
) -> None:
    broken = plan(form=None, steps=[STEP, {"kind": "find", "path": "/no.txt", "pattern": "x"}])
    endpoint.on("POST", CHAT, forever=said(broken))
    assert solve() == RIGHT


@pytest.mark.parametrize(("task_usd", "sent"), [(0.009, False), (None, True)], ids=["no money", "no eyes"])
def test_a_plan_whose_image_nobody_looks_at_is_worth_what_it_found_without(
    solve: Callable[..., Solution], endpoint: ScriptedServer, task_usd: float | None, sent: bool
) -> None:
    """A cap is reached inside the reading, or the model takes no images."""
    look = {"kind": "look", "path": "/shed.png", "name": "seen"}
    asked = {"choices": [{"message": {"content": plan(steps=[STEP, look])}}], "usage": {"cost": 0.005}}

    def answer(connection: Connection) -> bool:
        if b"image_url" in connection.request.body:
            blind = {"error": {"code": 404, "message": "No endpoints found that support image input"}}
            return reply(blind, status=404)(connection)
        return reply(asked)(connection)

    endpoint.on("POST", CHAT, forever=answer)
    assert solve(task_usd=task_usd) == RIGHT
    assert any(b"image_url" in request.body for request in endpoint.seen("POST")) is sent


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (
            reply({"error": {"code": 503, "message": "no capacity"}}, headers={"Retry-After": "60"}),
            Unavailable,
        ),
        (reply({"error": {"code": 402, "message": "no credits"}}), NotAuthorised),
    ],
)
def test_a_model_that_is_away_is_waited_for_until_there_is_no_time_left(
    solve: Callable[..., Solution], endpoint: ScriptedServer, trouble: Behaviour, error: type[Exception]
) -> None:
    """Also in the middle of a task: a plan that has failed its checks is no answer yet."""
    wrong = said(plan(steps=[{**STEP, "query": "SELECT nothing FROM nowhere"}]))
    endpoint.on("POST", CHAT, trouble, wrong, forever=trouble)
    with pytest.raises(error):
        solve()
    with pytest.raises(error):
        solve(run_id="run_2")
    assert solve(seconds=30.0, run_id="run_3").outcome
