"""What the fields of a log mean, found by looking: names differ from theme to theme.

A log event says when, who, what, on what, and in which context. Each of these roles is matched by name (the
field's own, or that of the object which holds its id), else by what the operator files say of the field,
else by what its values look like. Nested objects are looked into; the first present candidate of a role
counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.documents.timestamps import parse_time

Path = tuple[str, ...]

ROLES = ("time", "trace", "action", "agent", "target")

# Best names first. Compared without case, punctuation and the endings of _ENDINGS.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "time": (
        "ts", "timestamp", "time", "datetime", "eventtime", "loggedat", "logged", "occurredat", "occurred",
        "at", "when", "recordedat", "recorded", "createdat", "created", "date", "stamp", "clock", "epoch",
        "t",
    ),
    "trace": (
        "trace", "traceid", "correlation", "correlationid", "corr", "requestid", "request", "span", "flow",
        "chain", "txn", "transaction", "session", "sessionid", "case", "thread", "ref", "cid", "tid",
    ),
    "action": (
        "action", "op", "operation", "event", "eventtype", "verb", "act", "activity", "eventname", "what",
        "did", "command", "cmd", "method", "call", "type", "kind",
    ),
    "agent": (
        "agent", "actor", "unit", "who", "bot", "principal", "subject", "initiator", "caller", "performer",
        "performedby", "by", "user", "worker", "robot", "drone", "service", "operator", "account",
        "identity", "node", "origin", "source", "src", "from",
    ),
    "target": (
        "target", "resource", "object", "obj", "targetresource", "destination", "dest", "dst", "asset",
        "entity", "item", "on", "counterparty", "peer", "recipient", "to", "path", "endpoint", "url",
    ),
}  # fmt: skip
_ENDINGS = ("id", "name", "ref", "key", "local", "utc", "at", "uid", "code")
_HANDLES: Mapping[str, frozenset[str]] = {
    "time": frozenset({"value", "utc", "iso", "local", "epoch", "at", "ts", "start"}),
    "trace": frozenset({"id", "value", "key", "ref"}),
    "action": frozenset({"name", "type", "value", "kind", "verb"}),
    "agent": frozenset({"id", "name", "value", "key", "ref", "uid", "handle"}),
    "target": frozenset({"id", "name", "value", "key", "ref", "uid", "path"}),
}
_DEEPEST = 4

# What descriptions of fields say of each role: "craft that acted", "what was done", "shared by all attempts".
_DESCRIPTIONS: Mapping[str, re.Pattern[str]] = {
    "time": re.compile(r"\b(?:time|moment|when|date)\b"),
    "trace": re.compile(r"\b(?:trace|correlat\w+|shared? (?:by|it)|the same (?:call|request|operation))\b"),
    "action": re.compile(
        r"\b(?:what was done|what (?:it|they) did|actions?|operation performed|kind of event)\b"
    ),
    "agent": re.compile(r"\b(?:act(?:ed|ing|or)|who (?:did|performed|acted)|performed by|originat\w+)\b"),
    "target": re.compile(r"\b(?:target|object of|done to|acted (?:up)?on|affected|concerned)\b"),
}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@dataclass(frozen=True, eq=False)
class LogFields:
    """For each role the fields that may hold it, best first, as paths into nested objects."""

    by_role: Mapping[str, tuple[Path, ...]]

    def get(self, event: Mapping[str, Any], role: str) -> tuple[Path | None, Any]:
        """The first field of the role that the event has, and its value; (None, None) where it has none."""
        for path in self.by_role.get(role, ()):
            value = dig(event, path)
            if value is not None:
                return path, value
        return None, None


def dig(event: Mapping[str, Any], path: Path) -> Any:
    """The value at a path into nested objects, None where there is none."""
    value: Any = event
    for part in path:
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def find_fields(
    sample: Sequence[Mapping[str, Any]], describe: Callable[[str], str] = lambda _: ""
) -> LogFields | None:
    """What the fields of these events mean; None where nothing in them tells the time.

    Args:
        sample: events from all over one file.
        describe: what the operator files say of a field, in lower case.
    """
    seen = _leaves(sample)
    taken: set[Path] = set()
    by_role: dict[str, tuple[Path, ...]] = {}

    def settle(role: str, ranked: list[Path]) -> None:
        if ranked:
            by_role[role] = tuple(ranked)
            taken.add(ranked[0])

    for role in ROLES:
        named = sorted(
            (rank, -len(values), path)
            for path, values in seen.items()
            if path not in taken and (rank := _rank(role, path)) is not None and _fits(role, values)
        )
        settle(role, [path for _, _, path in named])
    for role in ROLES:
        if role not in by_role:
            settle(
                role,
                [
                    path
                    for path, values in seen.items()
                    if path not in taken
                    and _DESCRIPTIONS[role].search(describe(path[-1]))
                    and _fits(role, values)
                ],
            )
    for role in ROLES:
        if role not in by_role:
            settle(
                role, _by_values(role, {path: seen[path] for path in seen if path not in taken}, len(sample))
            )
    # a field that another role holds as its best is no stand-in for this one
    best = {paths[0]: role for role, paths in by_role.items()}
    by_role = {
        role: tuple(path for path in paths if best.get(path, role) == role) for role, paths in by_role.items()
    }
    return LogFields(by_role) if "time" in by_role else None


def _by_values(role: str, seen: Mapping[Path, list[Any]], events: int) -> list[Path]:
    """The field that looks most like the role; at most one, and only where every event has it."""
    full = {
        path: values for path, values in seen.items() if len(values) >= 0.95 * events and _fits(role, values)
    }
    if role == "time":
        return list(full)[:1]
    texts = {path: values for path, values in full.items() if all(isinstance(value, str) for value in values)}
    kinds = {path: len(set(values)) for path, values in texts.items()}
    words = {path for path, values in texts.items() if not any(any(c.isdigit() for c in v) for v in values)}
    if role == "trace":  # ids of which each occurs a few times at most
        many = [path for path in texts if path not in words and kinds[path] >= 0.3 * events > 6]
        return sorted(many, key=lambda path: -kinds[path])[:1]
    if role == "action":  # a few words; a status has fewer
        few = [path for path in words if 3 < kinds[path] <= max(40, 0.2 * events)]
        return sorted(few, key=lambda path: (-kinds[path], path))[:1]
    if role == "agent":  # ids, each of which occurs often
        often = [path for path in texts if path not in words and 1 < kinds[path] <= 0.5 * events]
        return sorted(often, key=lambda path: (kinds[path], path))[:1]
    return []


def _leaves(sample: Iterable[Mapping[str, Any]]) -> dict[Path, list[Any]]:
    seen: dict[Path, list[Any]] = {}

    def visit(value: Any, path: Path) -> None:
        if isinstance(value, Mapping) and len(path) < _DEEPEST:
            for key, item in value.items():
                visit(item, (*path, str(key)))
        elif path and value is not None:
            seen.setdefault(path, []).append(value)

    for event in sample:
        visit(event, ())
    return seen


def _rank(role: str, path: Path) -> int | None:
    """How well a path names a role: 0 is best, None is not at all."""
    names = _NAMES[role]
    leaf = "".join(_words(path[-1]))
    if leaf in names:
        return names.index(leaf) * 4 + len(path) - 1
    bare = _bare(path[-1])
    if bare in names:
        return names.index(bare) * 4 + 1 + len(path) - 1
    if len(path) > 1 and leaf in _HANDLES[role] and (parent := _bare(path[-2])) in names:
        # {"actor": {"id": …, "name": …}}: the id first
        return names.index(parent) * 4 + 2 + (leaf != "id")
    words = _words(path[-1])
    found = [names.index(word) for word in words if word in names and len(word) > 2]
    return 1000 + min(found) if found else None


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def _bare(name: str) -> str:
    words = _words(name)
    while len(words) > 1 and words[-1] in _ENDINGS:
        words.pop()
    return "".join(words)


def _fits(role: str, values: Sequence[Any]) -> bool:
    if role == "time":
        return sum(parse_time(value) is not None for value in values) >= 0.9 * len(values)
    scalar = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return bool(scalar) and all(
        isinstance(item, str | int) and not isinstance(item, bool) and len(str(item)) <= 200
        for item in scalar
    )
