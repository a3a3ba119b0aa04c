"""The tools of a task: the read-only ones are `shared.documents.tools`, the very code that workers have.

Harness Arena Task API v1, "Tools".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from pydantic import JsonValue

from emulators.arena import wire
from emulators.arena.choices import Choices
from emulators.arena.scenario import Scenario, effects
from emulators.arena.work import TaskWork
from shared.documents.timestamps import micros, parse_time, utc_text
from shared.documents.tools import ReadOnlyTools
from shared.errors import Refused, ToolError

_ENTRIES = (
    '{"path", "entries": [{"path", "type": "dir"} | '
    '{"path", "type": "file", "format", "size", "readable", "pages"?}]}'
)
_RESULTS = {
    "tree": _ENTRIES,
    "list": _ENTRIES,
    "read": '{"path", "start_line", "end_line", "total_lines", "text", "truncated"?, "note"?}',
    "search": '{"hits": [{"path", "line", "text"}], "total", "truncated"}',
    "query_logs": (
        '{"events": [{"file", "line", "time", "agent", "action", "target", "trace", "fields"}], '
        '"total", "offset", "next_offset"?}'
    ),
    "access_path": '{"from", "to", "path": [id] | null, "hops", "edges": [{"from", "to", "file", "record"}]}',
}
_OWN: list[wire.Tool] = [
    {
        "name": "threat_intel",
        "description": "What a third-party reputation feed says about an indicator (a low-trust source).",
        "args": {"indicator": "domain, address, hash or name"},
        "result": '{"indicator", "known", …}: what the feed has, in its own words',
    },
    {
        "name": "get_containment",
        "description": "The current containment state: the content of its state file.",
        "args": {},
        "result": "the state file's object",
    },
    {
        "name": "containment",
        "description": (
            "Quarantine or release agents, revoke or rotate tokens, block domains, leave notes. "
            "State-changing; all operations are carried out or none."
        ),
        "args": {
            "ops": (
                'list of {"op": "quarantine" | "release", "agent": id}, '
                '{"op": "revoke" | "rotate", "token": id}, '
                '{"op": "block", "domain": name}, {"op": "note", "text": text}'
            )
        },
        "result": '{"applied": number, "state": the new state}',
    },
    {
        "name": "send_message",
        "description": "Send an e-mail. State-changing.",
        "args": {"to": "one address", "subject": "text", "body": "text"},
        "result": '{"sent": true, "id", "to"}',
    },
    {
        "name": "write",
        "description": f"Write a text file, only under {effects.DRAFTS}. State-changing.",
        "args": {"path": f"file under {effects.DRAFTS}", "content": "text"},
        "result": '{"path", "bytes"}',
    },
]
_OTHER_NAMES = {
    "path": "file",
    "text": "content",
    "line": "line_number",
    "events": "items",
    "hits": "matches",
    "entries": "nodes",
    "hops": "length",
}


class Toolbox:
    """Describes and calls the tools.

    Args:
        choices: how unknown names are answered, and which shape results have.
    """

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._tools: list[wire.Tool] = [
            *(
                wire.Tool(
                    name=tool["name"],
                    description=tool["description"],
                    args=tool["args"],
                    result=_RESULTS[tool["name"]],
                )
                for tool in ReadOnlyTools.describe()
            ),
            *_OWN,
        ]
        self._args = {tool["name"]: frozenset(tool["args"]) for tool in self._tools}

    def describe(self) -> wire.Tools:
        """Answer of GET /tools."""
        return {"tools": self._tools}

    def call(self, work: TaskWork, scenario: Scenario, name: str, args: Mapping[str, Any]) -> JsonValue:
        """Call a tool on a task's copy of the workspace.

        Raises:
            ToolError: the tool says no; the caller answers ``{"ok": false}``.
            Refused: 400 or 404, where that is chosen for an unknown tool or argument.
        """
        if name not in self._args:
            message = f"unknown tool: {name[:80]}"
            if self._choices.unknown_tool == 200:
                raise ToolError(message)
            raise Refused(message, status=self._choices.unknown_tool)
        return self._shaped(name, self._answer(work, scenario, name, self._known(name, args)))

    def _known(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        unknown = sorted(args.keys() - self._args[name])
        if unknown and self._choices.unknown_argument != "ignored":
            takes = ", ".join(sorted(self._args[name])) or "none"
            message = f"{name}: unknown argument {unknown[0][:80]!r}; it takes {takes}"
            if self._choices.unknown_argument == 400:
                raise Refused(message, status=400)
            raise ToolError(message)
        return {key: value for key, value in args.items() if key in self._args[name]}

    def _answer(self, work: TaskWork, scenario: Scenario, name: str, args: dict[str, Any]) -> JsonValue:
        if name in effects.EFFECT_TOOLS:
            return work.apply(name, args)
        if name == "get_containment":
            return effects.get_containment(work.state)
        if name == "threat_intel":
            return _threat_intel(scenario, args.get("indicator"))
        if name == "query_logs" and not self._choices.until_inclusive:
            args["until"] = _moment_before(args.get("until"))
        return work.tools(scenario).call(name, args)

    def _shaped(self, name: str, result: JsonValue) -> JsonValue:
        shape = self._choices.result_shape
        if shape == "wrapped":
            return {"data": result, "meta": {"tool": name}}
        if shape == "renamed":
            return _renamed(result)
        if shape == "text":
            return json.dumps(result)
        return result


def _threat_intel(scenario: Scenario, indicator: object) -> JsonValue:
    if not isinstance(indicator, str) or not indicator.strip():
        raise ToolError("threat_intel: indicator: expected a text")
    known = scenario.threat_intel.get(indicator.strip().lower())
    return known if known is not None else {"indicator": indicator.strip(), "known": False}


def _moment_before(until: object) -> object:
    """The last microsecond before ``until``; what is no time is left for the tool to refuse."""
    moment = parse_time(until)
    return until if moment is None else utc_text(micros(moment, UTC) - 1)


def _renamed(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {_OTHER_NAMES.get(key, key): _renamed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item) for item in value]
    return value
