"""State-changing tools: what they accept, what they do, what they leave alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emulators.arena.scenario import Scenario, build
from emulators.arena.scenario.effects import TaskState, apply, get_containment
from shared.errors import ToolError


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return build("hub", 1, 1)


@pytest.fixture
def state(scenario: Scenario) -> TaskState:
    return TaskState.initial(scenario, scenario.tasks[0])


def test_operations_change_the_state_file_all_or_nothing(state: TaskState) -> None:
    agent, token = sorted(state.agents)[0], sorted(state.tokens)[0]
    before = get_containment(state)
    result = apply(
        "containment",
        {
            "ops": [
                {"op": "quarantine", "agent": agent},
                {"op": "rotate", "token": token},
                {"op": "block", "domain": "Bad.TEST"},
                {"op": "note", "text": "why"},
            ]
        },
        state,
    )
    assert result["applied"] == 4
    after = json.loads(state.changed[state.containment_path])
    assert agent in after["quarantined"]
    assert after["rotated"] == [token]
    assert "bad.test" in after["blocked"]
    assert after["notes"][-1] == "why"
    with pytest.raises(ToolError, match=r"ops\[1\]\.agent: no such agent 'nobody'"):
        apply(
            "containment",
            {"ops": [{"op": "release", "agent": agent}, {"op": "quarantine", "agent": "nobody"}]},
            state,
        )
    assert get_containment(state) == after
    assert before != after
    assert len(state.done) == 1


def test_an_operation_that_is_true_already_changes_nothing(state: TaskState) -> None:
    op = {"op": "block", "domain": "bad.test"}
    apply("containment", {"ops": [op]}, state)
    once = state.changed[state.containment_path]
    apply("containment", {"ops": [op, op]}, state)
    assert state.changed[state.containment_path] == once


def test_release_undoes_quarantine(state: TaskState) -> None:
    held = get_containment(state)["quarantined"][0]
    apply("containment", {"ops": [{"op": "release", "agent": held}]}, state)
    assert held not in get_containment(state)["quarantined"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({}, "ops: expected a list"),
        ({"ops": []}, "ops: expected a list"),
        ({"ops": ["quarantine"]}, r'ops\[0\]: expected an object with "op"'),
        ({"ops": [{"op": "erase", "agent": "a"}]}, "unknown operation 'erase'"),
        ({"ops": [{"op": "block"}]}, r"ops\[0\]\.domain: expected a text"),
        ({"ops": [{"op": "block", "domain": "no dots"}]}, "not a domain name"),
        ({"ops": [{"op": "revoke", "token": "TOK"}]}, "no such token 'TOK'"),
        ({"ops": [{"op": "note", "text": " "}]}, r"ops\[0\]\.text: expected a text"),
    ],
)
def test_a_wrong_operation_is_refused_by_name(state: TaskState, args: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        apply("containment", args, state)
    assert (state.done, state.changed) == ([], {})


def test_a_message_lands_in_the_outbox_of_this_task_alone(scenario: Scenario, state: TaskState) -> None:
    args = {"to": "team@hub.example", "subject": "Notice", "body": "Text"}
    assert apply("send_message", args, state) == {"sent": True, "id": "out-1", "to": "team@hub.example"}
    assert state.outbox == [{"id": "out-1", **args}]
    assert TaskState.initial(scenario, scenario.tasks[1]).outbox == []


@pytest.mark.parametrize("to", ["", "nobody", "a@b", "a@b.example, c@d.example", "A <a@b.example>", None])
def test_a_message_needs_one_address(state: TaskState, to: object) -> None:
    with pytest.raises(ToolError, match="to: expected"):
        apply("send_message", {"to": to, "subject": "s", "body": "b"}, state)
    assert state.outbox == []


def test_files_are_written_under_drafts(state: TaskState) -> None:
    assert apply("write", {"path": "/drafts/a/b.md", "content": "ü"}, state) == {
        "path": "/drafts/a/b.md",
        "bytes": 2,
    }
    assert state.changed["/drafts/a/b.md"] == "ü".encode()


@pytest.mark.parametrize(
    "path",
    [
        "/AGENTS.md", "drafts/a.md", "/drafts/", "/drafts/../AGENTS.md", "/drafts/x/..", "/drafts//a.md",
        "/drafts/./a",
        "/drafts/a\x00.md", "/drafts/a\\b.md", "/drafts/" + "a" * 300,
        "/Drafts/a.md",
    ],
)  # fmt: skip
def test_nothing_is_written_elsewhere(state: TaskState, path: str) -> None:
    with pytest.raises(ToolError, match="only files under /drafts/"):
        apply("write", {"path": path, "content": "x"}, state)
    assert state.changed == {}


def test_an_unknown_tool_is_refused(state: TaskState) -> None:
    with pytest.raises(ToolError, match="unknown tool: erase"):
        apply("erase", {}, state)
