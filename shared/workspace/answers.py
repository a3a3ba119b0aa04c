"""Compares a local tool's answer with the platform's, whatever shape that has.

The platform's text names the tools and their arguments, not the shape of results. So what an answer *says*
is recognised in it: the lines of a file, places (path and line), paths, a chain of ids. Keys and envelopes
may be any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from shared.documents.paths import canonical
from shared.documents.timestamps import micros, parse_time

_PLACE = re.compile(r"^\s*(?P<path>/?[^\s:][^:\n]*?):(?P<line>\d+)\b")
_NUMBERED = re.compile(r"^\s*\d+\s*[:|\t]\s?")

Place = tuple[str, int]


def differs(tool: str, local: Mapping[str, Any], remote: Any, paths: Collection[str]) -> str | None:
    """Why the platform's answer is another one, or is not understood; None where both say the same.

    Args:
        tool: one of ``ReadOnlyTools.names``.
        local: the local result, in the shape that ``shared.documents.tools`` describes.
        remote: the platform's result.
        paths: the workspace's canonical paths.
    """
    compare = _COMPARISONS.get(tool)
    if compare is None:
        return "nobody knows how to compare this tool"
    return compare(local, _opened(remote), frozenset(paths))


def _opened(value: Any) -> Any:
    """JSON within a string as what it is."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _read(local: Mapping[str, Any], remote: Any, _: frozenset[str]) -> str | None:
    wanted = str(local["text"])
    for text in _texts(remote):
        lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
        if lines == wanted.removesuffix("\n").split("\n"):
            return None
        if [_NUMBERED.sub("", line, count=1) for line in lines] == wanted.removesuffix("\n").split("\n"):
            return None
    return "the platform shows other text, or in an unknown shape"


def _search(local: Mapping[str, Any], remote: Any, paths: frozenset[str]) -> str | None:
    own = [(str(hit["path"]), int(hit["line"])) for hit in local["hits"]]
    return _same_places(own, list(_places(remote, paths)), whole=not local["truncated"])


def _query_logs(local: Mapping[str, Any], remote: Any, paths: frozenset[str]) -> str | None:
    own = {(str(event["file"]), int(event["line"])): event["time"] for event in local["events"]}
    theirs = list(_places(remote, paths))
    whole = local["total"] == len(own)
    if why := _same_places(list(own), theirs, whole=whole):
        return why
    for record in _objects(remote):
        places = list(_places(record, paths, deep=False))
        moments = {
            micros(moment)
            for value in record.values()
            if isinstance(value, str) and (moment := parse_time(value)) is not None
        }
        for place in places:
            mine = parse_time(own.get(place))
            if mine is not None and moments and micros(mine) not in moments:
                return f"another time for {place[0]}:{place[1]}"
    return None


def _same_places(own: list[Place], theirs: list[Place], *, whole: bool) -> str | None:
    """Both must list the same; where the local list was cut, one must be the start of the other."""
    shown = list(dict.fromkeys(theirs))
    if whole and set(own) == set(shown):
        return None
    shorter = min(len(own), len(shown))
    if not whole and shorter and own[:shorter] == shown[:shorter]:
        return None
    return f"{len(own)} places here, {len(shown)} recognised in the platform's answer, not the same"


def _tree(local: Mapping[str, Any], remote: Any, paths: frozenset[str]) -> str | None:
    own = {entry["path"] for entry in local["entries"] if entry["type"] == "file"}
    folder = canonical(str(local["path"]))
    theirs = {
        path
        for text in _strings(remote)
        for path in (canonical(text), canonical(f"{folder}/{text}"))
        if path in paths
    }
    if own == theirs:
        return None
    return f"{len(own)} files here, {len(theirs)} recognised in the platform's answer, not the same"


def _access_path(local: Mapping[str, Any], remote: Any, _: frozenset[str]) -> str | None:
    own = local["path"]
    chains = [value for value in _lists(remote) if len(value) > 1 and all(isinstance(v, str) for v in value)]
    chains += [re.split(r"\s*(?:->|→)\s*", text) for text in _strings(remote) if re.search("->|→", text)]
    if own is None:
        return None if not chains else "the platform knows a chain"
    if own in chains or (len(own) == 1 and not chains):
        return None
    return "the platform shows another chain, or in an unknown shape"


_COMPARISONS: Mapping[str, Callable[[Mapping[str, Any], Any, frozenset[str]], str | None]] = {
    "read": _read,
    "search": _search,
    "query_logs": _query_logs,
    "tree": _tree,
    "list": _tree,
    "access_path": _access_path,
}


def _places(value: Any, paths: frozenset[str], *, deep: bool = True) -> Iterator[Place]:
    """Path and line, side by side in an object or joined by a colon in a text."""
    if isinstance(value, str):
        if (found := _PLACE.match(value)) and canonical(found["path"]) in paths:
            yield canonical(found["path"]), int(found["line"])
    elif isinstance(value, dict):
        named = [canonical(v) for v in value.values() if isinstance(v, str) and canonical(v) in paths]
        line = _line(value)
        if named and line is not None:
            yield named[0], line
        elif deep:
            for item in value.values():
                yield from _places(item, paths)
        else:
            for item in value.values():
                if isinstance(item, str):
                    yield from _places(item, paths)
    elif isinstance(value, list):
        for item in value:
            yield from _places(item, paths)


def _line(record: Mapping[str, Any]) -> int | None:
    numbers = {key: v for key, v in record.items() if isinstance(v, int) and not isinstance(v, bool)}
    for key, number in numbers.items():
        if "line" in key.lower():
            return number
    return next(iter(numbers.values())) if len(numbers) == 1 else None


def _texts(value: Any) -> Iterator[str]:
    """Every text in an answer: strings, lists of lines, lists of objects that hold a line each."""
    yield from _strings(value)
    for items in _lists(value):
        if items and all(isinstance(item, str) for item in items):
            yield "\n".join(items)
        elif items and all(isinstance(item, dict) for item in items):
            for key in items[0]:
                if all(isinstance(item.get(key), str) for item in items):
                    yield "\n".join(item[key] for item in items)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _lists(item)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(item)
