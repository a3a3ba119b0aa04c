"""State-changing tools: what they take, what they do to a task's workspace, what they answer.

The containment state is a JSON file of the workspace; each successful ``containment`` call rewrites it.
Grammar of ``containment`` (``{"ops": [op, …]}``, all or nothing)::

    {"op": "quarantine", "agent": ID}     {"op": "release", "agent": ID}
    {"op": "revoke", "token": ID}         {"op": "rotate", "token": ID}
    {"op": "block", "domain": NAME}       {"op": "note", "text": TEXT}

An operation that is already true changes nothing and succeeds. Unknown ids, ids that are not in the
registries included, are refused. ``send_message`` takes ``to`` (one address), ``subject`` and ``body``;
``write`` takes ``path`` (under ``/drafts/``) and ``content``. Calls that were refused are no effects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from emulators.arena.scenario.model import Scenario, ScenarioTask
from shared.errors import ToolError
from shared.models import Effect, JsonObject

EFFECT_TOOLS = ("containment", "send_message", "write")
DRAFTS = "/drafts/"

_MAX_OPS = 100
_MAX_TEXT = 200_000
_ADDRESS = re.compile(r"^[^@\s,;<>]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$")
_HOST = re.compile(r"^(?=.{1,253}$)[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+$")
_DRAFT = re.compile(r"^(?!.*/\.{1,2}(?:/|$))/drafts/[^\x00-\x1f\\]{1,200}$")
_SUBJECT = {
    "quarantine": "agent",
    "release": "agent",
    "revoke": "token",
    "rotate": "token",
    "block": "domain",
    "note": "text",
}


@dataclass
class TaskState:
    """One task's workspace as the client has changed it.

    ``changed`` holds the current bytes of every file that differs from the initial workspace; ``done`` the
    effects that succeeded, in order; ``outbox`` the messages sent.
    """

    containment_path: str
    containment: JsonObject
    agents: frozenset[str]
    tokens: frozenset[str]
    changed: dict[str, bytes] = field(default_factory=dict)
    done: list[Effect] = field(default_factory=list)
    outbox: list[JsonObject] = field(default_factory=list)

    @classmethod
    def initial(cls, scenario: Scenario, task: ScenarioTask) -> TaskState:
        """The state in which a task's workspace starts."""
        path = scenario.containment_path
        return cls(
            containment_path=path,
            containment=json.loads(scenario.blobs[task.files[path]]),
            agents=scenario.agents,
            tokens=scenario.tokens,
        )


def get_containment(state: TaskState) -> JsonObject:
    """The result of the read-only tool ``get_containment``: the state file's content."""
    copy: JsonObject = json.loads(json.dumps(state.containment))
    return copy


def apply(tool: str, args: Mapping[str, JsonValue], state: TaskState) -> JsonObject:
    """Carry out one state-changing tool call on ``state`` and return the tool's result.

    Raises:
        ToolError: the tool is unknown, an argument is missing or wrong; nothing was changed.
    """
    if tool == "containment":
        result = _contain(args, state)
    elif tool == "send_message":
        result = _send(args, state)
    elif tool == "write":
        result = _write(args, state)
    else:
        raise ToolError(f"unknown tool: {tool}")
    state.done.append(Effect(tool=tool, args=dict(args)))
    return result


def _contain(args: Mapping[str, JsonValue], state: TaskState) -> JsonObject:
    ops = args.get("ops")
    if not isinstance(ops, list) or not 1 <= len(ops) <= _MAX_OPS:
        raise ToolError(f"ops: expected a list of 1 to {_MAX_OPS} operations")
    checked = [_operation(op, number, state) for number, op in enumerate(ops)]
    for verb, subject in checked:
        _change(state.containment, verb, subject)
    state.changed[state.containment_path] = dump_containment(state.containment)
    return {"applied": len(checked), "state": get_containment(state)}


def dump_containment(containment: Mapping[str, JsonValue]) -> bytes:
    """The containment state as the bytes of its file."""
    return (json.dumps(containment, indent=2, ensure_ascii=False) + "\n").encode()


def _operation(op: JsonValue, number: int, state: TaskState) -> tuple[str, str]:
    if not isinstance(op, dict) or not isinstance(op.get("op"), str):
        raise ToolError(f'ops[{number}]: expected an object with "op"')
    verb = str(op["op"])
    if verb not in _SUBJECT:
        raise ToolError(f"ops[{number}].op: unknown operation {verb!r}; known are {', '.join(_SUBJECT)}")
    name = _SUBJECT[verb]
    subject = op.get(name)
    if not isinstance(subject, str) or not subject.strip() or len(subject) > _MAX_TEXT:
        raise ToolError(f"ops[{number}].{name}: expected a text")
    if name == "agent" and subject not in state.agents:
        raise ToolError(f"ops[{number}].agent: no such agent {subject!r}")
    if name == "token" and subject not in state.tokens:
        raise ToolError(f"ops[{number}].token: no such token {subject!r}")
    if name == "domain":
        if not _HOST.match(subject):
            raise ToolError(f"ops[{number}].domain: not a domain name: {subject[:80]!r}")
        subject = subject.lower()
    return verb, subject


def _change(containment: JsonObject, verb: str, subject: str) -> None:
    lists = {"quarantine": "quarantined", "revoke": "revoked", "rotate": "rotated", "block": "blocked"}
    if verb == "release":
        _names(containment, "quarantined")[:] = [
            name for name in _names(containment, "quarantined") if name != subject
        ]
        return
    if verb == "note":
        _names(containment, "notes").append(subject)
        return
    names = _names(containment, lists[verb])
    if subject not in names:
        names.append(subject)


def _names(containment: JsonObject, key: str) -> list[JsonValue]:
    names = containment.setdefault(key, [])
    assert isinstance(names, list)
    return names


def _send(args: Mapping[str, JsonValue], state: TaskState) -> JsonObject:
    message = {name: _text(args, name) for name in ("to", "subject", "body")}
    if not _ADDRESS.match(message["to"]):
        raise ToolError("to: expected one e-mail address")
    number = len(state.outbox) + 1
    state.outbox.append({"id": f"out-{number}", **message})
    return {"sent": True, "id": f"out-{number}", "to": message["to"]}


def _write(args: Mapping[str, JsonValue], state: TaskState) -> JsonObject:
    path = _text(args, "path")
    content = _text(args, "content", empty=True)
    if not _DRAFT.match(path) or path.endswith("/") or "//" in path:
        raise ToolError(f"path: only files under {DRAFTS} can be written, got {path[:80]!r}")
    data = content.encode("utf-8", errors="replace")
    state.changed[path] = data
    return {"path": path, "bytes": len(data)}


def _text(args: Mapping[str, JsonValue], name: str, *, empty: bool = False) -> str:
    value = args.get(name)
    if not isinstance(value, str) or (not empty and not value.strip()):
        raise ToolError(f"{name}: expected a text")
    if len(value) > _MAX_TEXT:
        raise ToolError(f"{name}: at most {_MAX_TEXT} characters")
    return value
