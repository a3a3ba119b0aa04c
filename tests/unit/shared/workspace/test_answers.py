"""The platform's answers are recognised in other shapes, and a different answer is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.documents.tools import ReadOnlyTools
from shared.workspace.answers import differs

EVENTS = [
    {"ts": f"2026-11-14T03:00:{n:02d}Z", "agent": "a-1", "action": "read", "target": "db"} for n in range(5)
]
FILES = {
    "/AGENTS.md": b"# Rules\nBe kind.\n",
    "/logs/audit.jsonl": "\n".join(map(json.dumps, EVENTS)).encode(),
    "/registry/d.csv": b"id,from,to\nD1,a,b\nD2,b,c\n",
}
TOOLS = ReadOnlyTools(FILES)


def verdict(tool: str, args: dict[str, Any], remote: Any) -> str | None:
    return differs(tool, TOOLS.call(tool, args), remote, FILES)


PLACES: list[dict[str, Any]] = [
    {"source": "/logs/audit.jsonl", "line_no": n, "when": f"2026-11-14T03:00:{n - 1:02d}.000Z"}
    for n in range(1, 6)
]

SAME: list[tuple[str, dict[str, Any], Any]] = [
    ("read", {"path": "/AGENTS.md"}, "# Rules\nBe kind.\n"),
    ("read", {"path": "/AGENTS.md"}, {"content": "# Rules\r\nBe kind."}),
    ("read", {"path": "/AGENTS.md"}, {"lines": ["# Rules", "Be kind."]}),
    ("read", {"path": "/AGENTS.md"}, {"lines": [{"n": 1, "text": "# Rules"}, {"n": 2, "text": "Be kind."}]}),
    ("read", {"path": "/AGENTS.md"}, "1: # Rules\n2: Be kind."),
    ("read", {"path": "/AGENTS.md"}, "1\t# Rules\n2\tBe kind."),
    ("read", {"path": "/AGENTS.md"}, json.dumps({"data": {"body": "# Rules\nBe kind."}})),
    ("search", {"pattern": "kind"}, ["/AGENTS.md:2: Be kind."]),
    ("search", {"pattern": "kind"}, {"data": {"matches": [{"file": "AGENTS.md", "line": 2}]}}),
    ("search", {"pattern": "nothing at all"}, {"matches": []}),
    ("query_logs", {}, {"items": PLACES, "count": 5}),
    ("query_logs", {}, PLACES),
    ("query_logs", {"limit": 2}, {"items": PLACES[:2]}),
    ("query_logs", {"limit": 2}, {"items": PLACES}),
    ("tree", {}, {"files": [{"name": path.lstrip("/")} for path in FILES]}),
    ("list", {"path": "/logs"}, {"entries": ["audit.jsonl"]}),
    ("access_path", {"from": "a", "to": "c"}, {"chain": ["a", "b", "c"], "length": 2}),
    ("access_path", {"from": "a", "to": "c"}, "a -> b -> c"),
    ("access_path", {"from": "c", "to": "a"}, {"path": None}),
    ("access_path", {"from": "c", "to": "a"}, {"path": []}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "args", "remote"), SAME)
def test_the_same_answer_is_recognised_in_another_shape(tool: str, args: dict[str, Any], remote: Any) -> None:
    assert verdict(tool, args, remote) is None


OTHER: list[tuple[str, dict[str, Any], Any]] = [
    ("read", {"path": "/AGENTS.md"}, {"content": "# Rules\nBe cruel."}),
    ("read", {"path": "/AGENTS.md"}, {"pages": 2}),
    ("read", {"path": "/AGENTS.md"}, None),
    ("search", {"pattern": "kind"}, ["/AGENTS.md:1: # Rules"]),
    ("search", {"pattern": "kind"}, {"matches": []}),
    ("search", {"pattern": "kind"}, "one hit"),
    ("query_logs", {}, {"items": PLACES[:4]}),
    ("query_logs", {}, {"items": [{**place, "line_no": place["line_no"] + 1} for place in PLACES]}),
    ("query_logs", {}, {"items": [{**PLACES[0], "when": "2026-11-14T04:00:00Z"}, *PLACES[1:]]}),
    ("query_logs", {"limit": 2}, {"items": PLACES[2:]}),
    ("query_logs", {"limit": 2}, {"items": []}),
    ("tree", {}, {"files": ["/AGENTS.md"]}),
    ("tree", {}, "AGENTS.md\nlogs/"),
    ("access_path", {"from": "a", "to": "c"}, {"chain": ["a", "c"]}),
    ("access_path", {"from": "a", "to": "c"}, {"hops": 2}),
    ("access_path", {"from": "c", "to": "a"}, {"chain": ["c", "b", "a"]}),
    ("threat_intel", {}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "args", "remote"), OTHER)
def test_another_answer_or_an_unknown_shape_is_told(tool: str, args: dict[str, Any], remote: Any) -> None:
    local = TOOLS.call(tool, args) if tool in TOOLS.names else {}
    assert differs(tool, local, remote, FILES)
