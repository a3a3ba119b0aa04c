"""The read-only tools of Harness Arena, answered from a workspace's bytes.

Names and arguments are those of Harness Arena Task API v1, "Tools". It leaves results open; these are ours:

``tree`` / ``list``
    ``{"path", "entries": [{"path", "type": "dir"} | {"path", "type": "file", "format", "size", "readable",
    "pages"?}]}``: everything below ``path``, or its direct children, by path.
``read``
    ``{"path", "start_line", "end_line", "total_lines", "text", "truncated"?, "note"?}``; at most 400 lines.
``search``
    ``{"hits": [{"path", "line", "text"}], "total", "truncated"}``; case does not matter.
``query_logs``
    ``{"events": [{"file", "line", "time", "agent", "action", "target", "trace", "fields"}], "total",
    "offset", "next_offset"?}``: by time. ``time`` is UTC whatever the file says, ``fields`` holds everything
    else that the event says. ``since`` and ``until`` are inclusive; without an offset they are UTC; an
    ``until`` covers all that its precision names (a date its whole day, a minute its 60 seconds). The four
    filters compare whole values, ``text`` is a part of the line; case does not matter.
``access_path``
    ``{"from", "to", "path": [id, …] | null, "hops": n | null, "edges": [{"from", "to", "file", "record"}]}``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta
from functools import lru_cache
from typing import Any

from shared.documents.access_path import Registry
from shared.documents.delegations import find_delegations
from shared.documents.document import Document
from shared.documents.logs import KEYS, Logbook, open_logs
from shared.documents.operator_files import read_operator_files
from shared.documents.paths import canonical, missing, within
from shared.documents.read import MOST_LINES, read
from shared.documents.registry import TEXT_FORMATS, format_of, parse
from shared.documents.search import LIMIT, MOST_HITS, search
from shared.documents.timestamps import micros, parse_time
from shared.documents.tree import entries
from shared.errors import ToolError, Unreadable

Content = bytes | Callable[[], bytes]

EVENTS, MOST_EVENTS = 50, 200

_CHANGE = 'optional: list of changes, each [from, to], "from -> to" or {"from": …, "to": …}'


@dataclass(frozen=True)
class _Tool:
    description: str
    args: Mapping[str, str]
    required: tuple[str, ...] = ()


_TOOLS: Mapping[str, _Tool] = {
    "tree": _Tool(
        "Everything below a folder, with format, size, page count and whether `read` can serve it.",
        {"path": "optional: folder, default /"},
    ),
    "list": _Tool(
        "The direct children of a folder, with format, size, page count and whether `read` can serve it.",
        {"path": "optional: folder, default /"},
    ),
    "read": _Tool(
        f"Lines of a plain-text file ({', '.join(sorted(TEXT_FORMATS))}), at most {MOST_LINES} per call.",
        {
            "path": "file",
            "start_line": "optional: first line, 1-based",
            "end_line": "optional: last line, inclusive",
        },
        ("path",),
    ),
    "search": _Tool(
        "path:line hits over plain-text files; case does not matter.",
        {
            "pattern": "text, or a regular expression (RE2) with regex: true",
            "path": "optional: file or folder",
            "regex": "optional: boolean, default false",
            "limit": f"optional: default {LIMIT}, at most {MOST_HITS}",
        },
        ("pattern",),
    ),
    "query_logs": _Tool(
        "Audit-log events by time (UTC), with file and line to cite.",
        {
            "agent": "optional: who",
            "action": "optional: what",
            "target": "optional: on what",
            "trace": "optional: trace id",
            "text": "optional: any part of the line",
            "since": "optional: ISO time or date, inclusive, UTC where no offset is given",
            "until": "optional: ISO time or date, inclusive",
            "limit": f"optional: default {EVENTS}, at most {MOST_EVENTS}",
            "offset": "optional: events to skip",
        },
    ),
    "access_path": _Tool(
        "The shortest delegation chain on the registry export; later changes only if you pass them.",
        {
            "from": "id",
            "to": "id",
            "added": _CHANGE,
            "removed": _CHANGE,
            "granted": _CHANGE,
            "revoked": _CHANGE,
            "exclude": "optional: list of ids that the chain must not pass through",
        },
        ("from", "to"),
    ),
}


class ReadOnlyTools:
    """The tools over one workspace. Thread safe; nothing is loaded before a call needs it.

    Args:
        files: path → bytes, or a function that gives them. Contents are taken as unchanging: after a write
            make a new instance, which costs little (what is derived from contents is shared by equal ones).
        document: gives the parsed document of a path. Without it files are parsed in this process, so it must
            be given wherever the files are not one's own.
    """

    names = tuple(_TOOLS)

    def __init__(
        self, files: Mapping[str, Content], document: Callable[[str], Document] | None = None
    ) -> None:
        self._document = document or (lambda path: _parsed(self._load(path), format_of(path)))
        self._files = {canonical(path): content for path, content in files.items()}
        self._lock = threading.Lock()
        self._logbook: Logbook | None = None
        self._registry: Registry | None = None

    @staticmethod
    def describe() -> list[dict[str, Any]]:
        """The tools as ``GET /tools`` lists them: name, description, args (name → what it takes)."""
        return [
            {"name": name, "description": tool.description, "args": dict(tool.args)}
            for name, tool in _TOOLS.items()
        ]

    def call(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one tool call. Arguments that are None count as not given.

        Raises:
            ToolError: an unknown tool; a missing, unknown or wrong argument; no such file; a binary format.
        """
        tool = _TOOLS.get(name)
        if tool is None:
            raise ToolError(f"unknown tool {name[:80]!r}: one of {', '.join(_TOOLS)}")
        given = _Args(name, {key: value for key, value in args.items() if value is not None})
        given.check(tool)
        answer: dict[str, Any] = getattr(self, f"_{name}")(given)
        return answer

    def logbook(self) -> Logbook:
        """The events of the workspace's logs."""
        with self._lock:
            if self._logbook is None:
                self._logbook = open_logs(self._files, self._load)
            return self._logbook

    def _tree(self, args: _Args) -> dict[str, Any]:
        return self._entries(args, deep=True)

    def _list(self, args: _Args) -> dict[str, Any]:
        return self._entries(args, deep=False)

    def _entries(self, args: _Args, *, deep: bool) -> dict[str, Any]:
        folder = canonical(args.text("path") or "/")
        if folder in self._files:
            raise ToolError(f"{folder} is a file, not a folder")
        if not any(within(path, folder) for path in self._files):
            raise missing(folder, self._folders(), "folder")
        found = entries(self._files, folder, deep=deep, load=self._load, document=self._document)
        return {"path": folder, "entries": found}

    def _read(self, args: _Args) -> dict[str, Any]:
        path = self._file(args.text("path") or "")
        return read(path, self._load(path), args.number("start_line"), args.number("end_line"))

    def _search(self, args: _Args) -> dict[str, Any]:
        where = canonical(args.text("path") or "/")
        paths = [path for path in sorted(self._files) if within(path, where)]
        if not paths:
            raise missing(where, (*self._files, *self._folders()), "file or folder")
        readable = ((path, self._load(path)) for path in paths if format_of(path) in TEXT_FORMATS)
        limit = args.number("limit", least=1)
        return search(
            readable,
            args.text("pattern") or "",
            regex=args.flag("regex"),
            limit=min(LIMIT if limit is None else limit, MOST_HITS),
        )

    def _query_logs(self, args: _Args) -> dict[str, Any]:
        wanted = {key: value for key in KEYS if (value := args.text(key)) is not None}
        found = self.logbook().select(
            wanted, text=args.text("text"), since=args.moment("since"), until=args.moment("until", end=True)
        )
        limit, offset = args.number("limit", least=1), args.number("offset", least=0) or 0
        last = offset + min(EVENTS if limit is None else limit, MOST_EVENTS)
        answer: dict[str, Any] = {
            "events": [event.shown() for event in found[offset:last]],
            "total": len(found),
            "offset": offset,
        }
        if last < len(found):
            answer["next_offset"] = last
        return answer

    def _access_path(self, args: _Args) -> dict[str, Any]:
        with self._lock:
            if self._registry is None:
                operator = read_operator_files(self._files, self._load)
                self._registry = Registry(*find_delegations(self._files, self._document, operator))
            registry = self._registry
        changes = {name: args.get(name) for name in ("added", "removed", "granted", "revoked", "exclude")}
        return registry.chain(args.text("from") or "", args.text("to") or "", **changes)

    def _file(self, path: str) -> str:
        found = canonical(path)
        if found in self._files:
            return found
        if any(within(known, found) for known in self._files):
            raise ToolError(f"{found} is a folder: use `list`")
        raise missing(found, self._files)

    def _folders(self) -> set[str]:
        return {path[:end] for path in self._files for end in range(1, len(path)) if path[end] == "/"}

    def _load(self, path: str) -> bytes:
        content = self._files[path]
        return content if isinstance(content, bytes) else content()


@lru_cache(maxsize=128)
def _parsed(data: bytes, kind: str) -> Document:
    try:
        return parse(data, f"file.{kind}")
    except Unreadable as error:
        return Document(kind, unreadable=error.reason)


class _Args:
    """The arguments of one call, each read as what it should be."""

    def __init__(self, tool: str, values: Mapping[str, Any]) -> None:
        self._tool = tool
        self._values = values

    def check(self, tool: _Tool) -> None:
        if unknown := sorted(set(self._values) - set(tool.args)):
            raise self._wrong(unknown[0], f"unknown argument; {self._tool} takes {', '.join(tool.args)}")
        for name in tool.required:
            if name not in self._values:
                raise self._wrong(name, "required")

    def get(self, name: str) -> Any:
        return self._values.get(name)

    def text(self, name: str) -> str | None:
        value = self._values.get(name)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self._wrong(name, f"expected text (got {str(value)[:80]})")

    def number(self, name: str, least: int | None = None) -> int | None:
        value = self._values.get(name)
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,15}", value.strip()):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, f"expected a whole number (got {str(value)[:80]})")
        if least is not None and value < least:
            raise self._wrong(name, f"must be {least} or more (got {value})")
        return value

    def flag(self, name: str) -> bool:
        value = self._values.get(name, False)
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            return value.lower() == "true"
        if not isinstance(value, bool):
            raise self._wrong(name, f"expected true or false (got {str(value)[:80]})")
        return value

    def moment(self, name: str, *, end: bool = False) -> int | None:
        """Microseconds since the epoch; with ``end`` the last one that the written precision covers."""
        value = self._values.get(name)
        if value is None:
            return None
        moment = parse_time(value)
        if moment is None:
            raise self._wrong(name, f"expected an ISO time or date (got {str(value)[:80]})")
        span = _precision(value) if end else timedelta(0)
        return micros(moment, UTC) + max(0, span // timedelta(microseconds=1) - 1)

    def _wrong(self, name: str, problem: str) -> ToolError:
        return ToolError(f"{self._tool}: {name}: {problem}")


def _precision(value: Any) -> timedelta:
    """What a written time covers: a day, a minute, a second, or a moment."""
    if not isinstance(value, str):
        return timedelta(0)
    text = value.strip()
    if re.fullmatch(r"\d{4}-?\d{2}-?\d{2}", text):
        return timedelta(days=1)
    if re.search(r"[T ]\d{2}:\d{2}(?![:\d])", text):
        return timedelta(minutes=1)
    return timedelta(0) if re.search(r":\d{2}[.,]\d+", text) else timedelta(seconds=1)
