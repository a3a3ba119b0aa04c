"""The read-only tools: one expectation per rule of Harness Arena Task API v1, "Tools", written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.documents.tools import ReadOnlyTools
from shared.errors import ToolError

EVENTS = [
    {"ts": "2026-11-14T00:00:00Z", "agent": "a-1", "action": "read", "target": "db", "trace": "t1"},
    {"ts": "2026-11-14T12:00:30Z", "agent": "A-2", "action": "write", "target": ["db", "fs"], "trace": "t1"},
    {"ts": "2026-11-14T23:59:59Z", "agent": "a-1", "action": "write", "target": "fs", "trace": "t2"},
    {"ts": "2026-11-15T00:00:00Z", "agent": "a-3", "action": "read", "target": "db", "why": "Café"},
]
REGISTRY = (
    "id,delegator,delegate,ended\nD1,a,b,\nD2,b,c,\nD3,a,d,\nD4,d,c,\nD5,c,e,\nD6,a,e,2026-01-01\nD7,a,z,\n"
)
FILES = {
    "/AGENTS.md": b"# Rules\r\nBe kind.\r\n",
    "/logs/audit.jsonl": "\n".join(json.dumps(event, ensure_ascii=False) for event in EVENTS).encode(),
    "/docs/long.txt": "".join(f"line {n}\n" for n in range(1, 1001)).encode(),
    "/docs/sep.md": "one\u2028still one\ntwo\x0bstill two\r\nthree".encode(),
    "/docs/scan.png": b"\x89PNG\r\n\x1a\n",
    "/docs/more/x.csv": b"id,name\n1,Alpha\n2,beta\n",
    "/registry/delegations.csv": REGISTRY.encode(),
}


@pytest.fixture
def tools() -> ReadOnlyTools:
    return ReadOnlyTools(FILES)


def lines_of(result: dict[str, Any]) -> list[int]:
    return [event["line"] for event in result["events"]]


def test_tree_lists_everything_below_a_folder_with_format_size_and_readability(tools: ReadOnlyTools) -> None:
    result = tools.call("tree", {"path": "docs"})
    assert result["path"] == "/docs"
    assert result["entries"] == [
        {"path": "/docs/long.txt", "type": "file", "format": "txt", "size": 8893, "readable": True},
        {"path": "/docs/more", "type": "dir"},
        {"path": "/docs/more/x.csv", "type": "file", "format": "csv", "size": 23, "readable": True},
        {"path": "/docs/scan.png", "type": "file", "format": "png", "size": 8, "readable": False},
        {"path": "/docs/sep.md", "type": "file", "format": "md", "size": 36, "readable": True},
    ]


def test_list_shows_direct_children_only(tools: ReadOnlyTools) -> None:
    assert [entry["path"] for entry in tools.call("list", {})["entries"]] == [
        "/AGENTS.md", "/docs", "/logs", "/registry",
    ]  # fmt: skip


def test_a_pdf_is_listed_with_its_pages() -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas("unused.pdf")
    for page in range(3):
        canvas.drawString(100, 100, f"page {page}")
        canvas.showPage()
    (entry,) = ReadOnlyTools({"/a.pdf": canvas.getpdfdata()}).call("list", {})["entries"]
    assert entry["pages"] == 3
    assert "pages" not in ReadOnlyTools({"/a.pdf": b"broken"}).call("list", {})["entries"][0]


def test_read_gives_lines_inclusive_and_counts_only_newlines(tools: ReadOnlyTools) -> None:
    assert tools.call("read", {"path": "/AGENTS.md"}) == {
        "path": "/AGENTS.md", "start_line": 1, "end_line": 2, "total_lines": 2, "text": "# Rules\nBe kind.",
    }  # fmt: skip
    result = tools.call("read", {"path": "docs//sep.md", "start_line": "2", "end_line": 2})
    assert result["text"] == "two\x0bstill two"
    assert result["total_lines"] == 3


def test_read_is_cut_at_400_lines_and_says_how_to_go_on(tools: ReadOnlyTools) -> None:
    result = tools.call("read", {"path": "/docs/long.txt", "start_line": 101})
    assert (result["start_line"], result["end_line"], result["truncated"]) == (101, 500, True)
    assert result["text"].startswith("line 101\n")
    assert result["text"].endswith("\nline 500")
    assert "start_line=501" in result["note"]
    assert "truncated" not in tools.call("read", {"path": "/docs/long.txt", "start_line": 601})


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("read", {"path": "/docs/scan.png"}, "binary format.*download"),
        ("read", {"path": "/docs/lang.txt"}, "not found.*did you mean /docs/long.txt"),
        ("read", {"path": "/docs"}, "folder"),
        ("read", {"path": "/AGENTS.md", "start_line": 3}, "past the end"),
        ("read", {"path": "/AGENTS.md", "start_line": 0}, "1 or more"),
        ("read", {"path": "/AGENTS.md", "start_line": 2, "end_line": 1}, "before start_line"),
        ("read", {"path": "/AGENTS.md", "start_line": True}, "whole number"),
        ("read", {}, "path: required"),
        ("read", {"path": ["/AGENTS.md"]}, "path: expected text"),
        (
            "read",
            {"path": "/AGENTS.md", "lines": 3},
            "unknown argument; read takes path, start_line, end_line",
        ),
        ("tree", {"path": "/nowhere"}, "folder not found"),
        ("tree", {"path": "/AGENTS.md"}, "is a file"),
        ("search", {"pattern": ""}, "must not be empty"),
        ("search", {"pattern": "(", "regex": True}, "regular expression"),
        ("search", {"pattern": "\ud800", "regex": True}, "regular expression"),
        ("search", {"pattern": "x", "regex": "perhaps"}, "true or false"),
        ("search", {"pattern": "x", "limit": 0}, "1 or more"),
        ("search", {"pattern": "x", "path": "/no"}, "not found"),
        ("query_logs", {"since": "yesterday"}, "since: expected an ISO time"),
        ("query_logs", {"offset": -1}, "0 or more"),
        ("access_path", {"from": "a", "to": "nobody"}, "not in the registry"),
        ("access_path", {"from": "a", "to": "b", "added": [["a"]]}, "added: expected"),
        ("access_path", {"from": "a", "to": "b", "removed": ["D99"]}, "removed: D99 is neither"),
        ("write", {"path": "/drafts/x"}, "unknown tool"),
    ],
)
def test_a_wrong_call_says_what_was_wrong(
    tools: ReadOnlyTools, name: str, args: dict[str, Any], message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        tools.call(name, args)


def test_search_ignores_case_and_gives_places_in_plain_text_only(tools: ReadOnlyTools) -> None:
    assert tools.call("search", {"pattern": "ALPHA"}) == {
        "hits": [{"path": "/docs/more/x.csv", "line": 2, "text": "1,Alpha"}], "total": 1, "truncated": False,
    }  # fmt: skip
    assert tools.call("search", {"pattern": "PNG"})["total"] == 0
    assert tools.call("search", {"pattern": "café"})["hits"][0]["line"] == 4


def test_search_takes_regular_expressions_folders_and_limits(tools: ReadOnlyTools) -> None:
    result = tools.call("search", {"pattern": r"^line \d{3}$", "regex": True, "path": "/docs", "limit": 2})
    assert [hit["line"] for hit in result["hits"]] == [100, 101]
    assert (result["total"], result["truncated"]) == (900, True)
    assert tools.call("search", {"pattern": "line", "path": "/logs"})["total"] == 0


@pytest.mark.timeout(20)
def test_a_pattern_that_would_hang_python_does_not_hang() -> None:
    files = {"/a.txt": b"a" * 50_000 + b"!\n"}
    assert ReadOnlyTools(files).call("search", {"pattern": r"^(a+)+$", "regex": True})["total"] == 0


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        ({}, [1, 2, 3, 4]),
        ({"agent": "a-1"}, [1, 3]),
        ({"agent": "a-2"}, [2]),
        ({"action": "READ"}, [1, 4]),
        ({"target": "db"}, [1, 2, 4]),
        ({"target": "fs", "action": "write"}, [2, 3]),
        ({"trace": "t1"}, [1, 2]),
        ({"text": "CAFÉ"}, [4]),
        ({"agent": "a"}, []),
        ({"since": "2026-11-14T12:00:30Z"}, [2, 3, 4]),
        ({"since": "2026-11-14T12:00:31Z"}, [3, 4]),
        ({"until": "2026-11-14T12:00:30Z"}, [1, 2]),
        ({"until": "2026-11-14T12:00"}, [1, 2]),
        ({"until": "2026-11-14"}, [1, 2, 3]),
        ({"since": "2026-11-15"}, [4]),
        ({"since": "2026-11-15T01:00:00+01:00"}, [4]),
        ({"since": "2026-11-16", "until": "2026-11-14"}, []),
        ({"limit": 2}, [1, 2]),
        ({"limit": 2, "offset": 1}, [2, 3]),
        ({"offset": 9}, []),
        ({"agent": None, "limit": "1"}, [1]),
    ],
)
def test_query_logs_filters(tools: ReadOnlyTools, args: dict[str, Any], lines: list[int]) -> None:
    assert lines_of(tools.call("query_logs", args)) == lines


def test_until_includes_the_very_moment() -> None:
    event = {"ts": "2026-11-14T00:00:00.500Z", "agent": "a-1", "action": "read"}
    tools = ReadOnlyTools({"/logs/a.jsonl": json.dumps(event).encode()})
    assert tools.call("query_logs", {"until": "2026-11-14T00:00:00.500Z"})["total"] == 1
    assert tools.call("query_logs", {"until": "2026-11-14T00:00:00.499Z"})["total"] == 0


def test_query_logs_counts_everything_and_says_where_the_next_page_begins(tools: ReadOnlyTools) -> None:
    page = tools.call("query_logs", {"limit": 3})
    assert (page["total"], page["offset"], page["next_offset"]) == (4, 0, 3)
    assert "next_offset" not in tools.call("query_logs", {"limit": 3, "offset": 3})


def test_query_logs_shows_each_event_with_its_place(tools: ReadOnlyTools) -> None:
    (event,) = tools.call("query_logs", {"agent": "A-2"})["events"]
    assert event == {
        "file": "/logs/audit.jsonl",
        "line": 2,
        "time": "2026-11-14T12:00:30Z",
        "agent": "A-2",
        "action": "write",
        "target": ["db", "fs"],
        "trace": "t1",
        "fields": {},
    }


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({"from": "a", "to": "e"}, ["a", "b", "c", "e"]),
        ({"from": "A", "to": "E"}, ["a", "b", "c", "e"]),
        ({"from": "a", "to": "a"}, ["a"]),
        ({"from": "e", "to": "a"}, None),
        ({"from": "a", "to": "e", "added": [["a", "e"]]}, ["a", "e"]),
        ({"from": "a", "to": "e", "granted": {"from": "b", "to": "e"}}, ["a", "b", "e"]),
        ({"from": "a", "to": "new", "added": "e -> new"}, ["a", "b", "c", "e", "new"]),
        ({"from": "a", "to": "e", "removed": ["D2"]}, ["a", "d", "c", "e"]),
        ({"from": "a", "to": "e", "revoked": [{"delegator": "b", "delegate": "c"}]}, ["a", "d", "c", "e"]),
        ({"from": "a", "to": "e", "removed": ["b", "a->d"]}, None),
        ({"from": "a", "to": "e", "exclude": ["b"]}, ["a", "d", "c", "e"]),
        ({"from": "a", "to": "e", "exclude": "b, d"}, None),
        ({"from": "a", "to": "e", "exclude": ["a"]}, None),
    ],
)
def test_access_path_finds_the_shortest_chain_first_by_id(
    tools: ReadOnlyTools, args: dict[str, Any], path: list[str] | None
) -> None:
    result = tools.call("access_path", args)
    assert result["path"] == path
    assert result["hops"] == (None if path is None else len(path) - 1)


def test_each_step_of_a_chain_cites_its_record(tools: ReadOnlyTools) -> None:
    edges = tools.call("access_path", {"from": "a", "to": "c", "added": ["c -> x"]})["edges"]
    assert edges == [
        {"from": "a", "to": "b", "file": "/registry/delegations.csv", "record": "D1"},
        {"from": "b", "to": "c", "file": "/registry/delegations.csv", "record": "D2"},
    ]


def test_every_tool_is_described_with_its_arguments() -> None:
    described = {tool["name"]: tool for tool in ReadOnlyTools.describe()}
    assert tuple(described) == ReadOnlyTools.names == (
        "tree", "list", "read", "search", "query_logs", "access_path",
    )  # fmt: skip
    assert list(described["access_path"]["args"]) == [
        "from", "to", "added", "removed", "granted", "revoked", "exclude",
    ]  # fmt: skip
    assert all(tool["description"] for tool in described.values())


def test_nothing_is_loaded_before_a_call_needs_it() -> None:
    loaded: list[str] = []

    def content(path: str, data: bytes) -> Any:
        return lambda: loaded.append(path) or data

    tools = ReadOnlyTools({path: content(path, data) for path, data in FILES.items()})
    assert loaded == []
    tools.call("read", {"path": "/AGENTS.md"})
    assert loaded == ["/AGENTS.md"]
