"""``access_path``: the shortest delegation chain on the registry export.

The registry is found by looking: a csv or json file whose records say who hands access to whom, either as
pairs (``delegator``/``delegate``, ``from``/``to``, …) or as lists at each agent (``"delegates_to": […]``).
What changed after the export counts only if the caller passes it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from shared.documents.encoding import decode
from shared.documents.paths import extension
from shared.errors import ToolError

# Compared in lower case, without punctuation and without a final "id"; the best name comes first.
_GIVERS = (
    "delegator", "grantor", "delegatedby", "grantedby", "from", "fromagent", "source", "src", "parent",
    "principal", "holder", "giver", "upstream", "caller",
)  # fmt: skip
_TAKERS = (
    "delegate", "delegatee", "grantee", "delegatedto", "grantedto", "to", "toagent", "target", "dst", "child",
    "resource", "receiver", "taker", "downstream", "callee", "agent",
)  # fmt: skip
_LISTS = (
    "delegatesto", "delegates", "delegations", "delegateto", "candelegateto", "grants", "grantsto", "access",
    "accessto", "canaccess", "cancall", "canactas", "mayact", "mayactas", "trusts", "edges", "links",
)  # fmt: skip
_IDS = ("id", "agentid", "agent", "unitid", "unit", "name", "key", "node")
_STATES = ("status", "state")
_DEAD = frozenset(
    {"revoked", "removed", "expired", "inactive", "disabled", "deleted", "withdrawn", "suspended"}
)
_WORDS = ("registry", "delegat", "grant", "register")
_ARROW = re.compile(r"\s*(?:->|→|=>|>|,|\|)\s*")


@dataclass(frozen=True, slots=True)
class Delegation:
    """``giver`` hands access to ``taker``. ``path`` and ``record`` cite it; None for a passed change."""

    giver: str
    taker: str
    path: str | None = None
    record: str | None = None

    def shown(self) -> dict[str, Any]:
        cited = {"file": self.path, "record": self.record} if self.path else {"file": None, "record": None}
        return {"from": self.giver, "to": self.taker, **cited}


class Registry:
    """The delegations of the registry export and the ids that it knows."""

    def __init__(self, delegations: Iterable[Delegation], known: Iterable[str]) -> None:
        self.delegations: dict[tuple[str, str], Delegation] = {}
        for delegation in delegations:
            self.delegations.setdefault((delegation.giver, delegation.taker), delegation)
        self.known = frozenset(known).union(*self.delegations) if self.delegations else frozenset(known)

    def chain(
        self,
        start: str,
        goal: str,
        *,
        added: Any = None,
        removed: Any = None,
        granted: Any = None,
        revoked: Any = None,
        exclude: Any = None,
    ) -> dict[str, Any]:
        """The shortest chain from ``start`` to ``goal``; of equally short ones the first in order of ids.

        Args:
            added, granted: delegations that came later: pairs, objects with two ids, or texts like
                ``"a -> b"``.
            removed, revoked: delegations that ended later: in the same forms, by the id of their record, or
                by an agent's id for all of its delegations.
            exclude: ids that the chain must not pass through.

        Returns:
            ``{"from", "to", "path": [id, …] or null, "hops": n or null, "edges": [{"from", "to", "file",
            "record"}]}``; file and record cite the export, null for a change that was passed.

        Raises:
            ToolError: an id is in neither the registry nor the changes, or a change cannot be understood.
        """
        edges = dict(self.delegations)
        for name, change in (("added", added), ("granted", granted)):
            for item in _items(change):
                pair = _pair(name, item)
                edges.setdefault(pair, Delegation(*pair))
        for name, change in (("removed", removed), ("revoked", revoked)):
            for item in _items(change):
                for pair in self._meant(name, item, edges):
                    edges.pop(pair, None)
        known = self.known.union(*edges) if edges else self.known
        start, goal = _known("from", start, known), _known("to", goal, known)
        barred = {_near(name, known) for name in _names("exclude", exclude)}
        onward: dict[str, list[str]] = {}
        for giver, taker in edges:
            if not barred & {giver, taker}:
                onward.setdefault(giver, []).append(taker)
        path = None if barred & {start, goal} else _shortest(onward, start, goal)
        steps = [edges[pair].shown() for pair in pairwise(path)] if path else []
        hops = None if path is None else len(path) - 1
        return {"from": start, "to": goal, "path": path, "hops": hops, "edges": steps}

    def _meant(
        self, name: str, item: Any, edges: Mapping[tuple[str, str], Delegation]
    ) -> list[tuple[str, str]]:
        """The delegations that an item of ``removed`` or ``revoked`` means."""
        if not isinstance(item, str) or _ARROW.search(item):
            return [_pair(name, item)]
        named = [pair for pair, edge in edges.items() if edge.record == item and edge.giver != item]
        if named:
            return named
        touched = [pair for pair in edges if item in pair]
        if not touched:
            raise ToolError(f"{name}: {item[:80]} is neither a delegation nor an agent with one")
        return touched


def open_registry(paths: Iterable[str], load: Callable[[str], bytes]) -> Registry:
    """Find the registry export among a workspace's files.

    Where several files hold delegations, those that call themselves a registry, delegations or grants count.

    Raises:
        ToolError: no file holds delegations.
    """
    found = []
    for path in sorted(paths):
        if extension(path) in {"csv", "json"}:
            delegations, ids = _delegations(path, load(path))
            if delegations:
                found.append((path, delegations, ids))
    if not found:
        raise ToolError("this workspace has no registry export with delegations")
    named = [entry for entry in found if any(word in entry[0].lower() for word in _WORDS)]
    chosen = named or found
    return Registry(
        (delegation for _, delegations, _ in chosen for delegation in delegations),
        (name for _, _, ids in found for name in ids),
    )


@lru_cache(maxsize=256)
def _delegations(path: str, data: bytes) -> tuple[tuple[Delegation, ...], tuple[str, ...]]:
    """A file's delegations, and the ids of its records."""
    records = _csv_records(data) if extension(path) == "csv" else _json_records(data)
    delegations: list[Delegation] = []
    ids: list[str] = []
    for name, record in records:
        fields = {_plain_name(key): value for key, value in record.items()}
        own = name or _first(fields, _IDS)
        ids += [own] if own else []
        if str(_first(fields, _STATES) or "").lower() in _DEAD:
            continue
        giver, taker = _first(fields, _GIVERS), _first(fields, _TAKERS)
        if giver and taker and giver != taker:
            delegations.append(Delegation(giver, taker, path, own))
            continue
        for key in _LISTS:
            for item in _listed(fields.get(key)):
                if own:
                    delegations.append(Delegation(own, item, path, own))
    return tuple(delegations), tuple(ids)


def _csv_records(data: bytes) -> list[tuple[str | None, dict[str, Any]]]:
    text = decode(data).text
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t|", key=head.count)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    if not rows:
        return []
    return [(row[0], dict(zip(rows[0], row, strict=False))) for row in rows[1:] if row]


def _json_records(data: bytes) -> list[tuple[str | None, dict[str, Any]]]:
    """Objects at any depth; an object under a key of a mapping of objects is named by the key."""
    try:
        value = json.loads(decode(data).text)
    except (ValueError, RecursionError):
        return []
    found: list[tuple[str | None, dict[str, Any]]] = []

    def visit(value: Any, name: str | None, depth: int) -> None:
        if isinstance(value, dict) and depth < 6:
            own = value.get("id")
            found.append((str(own) if isinstance(own, str | int) else name, value))
            alike = bool(value) and all(isinstance(item, dict) for item in value.values())
            for key, item in value.items():
                visit(item, str(key) if alike else None, depth + 1)
        elif isinstance(value, list):
            for item in value:
                visit(item, None, depth + 1)

    visit(value, None, 0)
    return found


def _shortest(onward: Mapping[str, list[str]], start: str, goal: str) -> list[str] | None:
    """Breadth first, in order of ids: the first chain found is the smallest of the shortest."""
    layer = [[start]]
    seen = {start}
    while layer:
        following: list[list[str]] = []
        for path in layer:
            if path[-1] == goal:
                return path
            for taker in sorted(onward.get(path[-1], ())):
                if taker not in seen:
                    seen.add(taker)
                    following.append([*path, taker])
        layer = following
    return None


def _items(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _pair(name: str, item: Any) -> tuple[str, str]:
    ends: list[Any] = []
    if isinstance(item, str):
        ends = _ARROW.split(item.strip())
    elif isinstance(item, list):
        ends = item
    elif isinstance(item, dict):
        fields = {_plain_name(key): value for key, value in item.items()}
        ends = [_first(fields, _GIVERS), _first(fields, _TAKERS)]
    if len(ends) != 2 or not all(isinstance(end, str) and end.strip() for end in ends):
        raise ToolError(
            f'{name}: expected a list of ["a", "b"], "a -> b" or {{"from": "a", "to": "b"}}; '
            f"got {str(item)[:120]}"
        )
    return ends[0].strip(), ends[1].strip()


def _names(name: str, value: Any) -> list[str]:
    items = (
        [] if value is None else value if isinstance(value, list) else re.split(r"[,\s]+", str(value).strip())
    )
    if not all(isinstance(item, str) for item in items):
        raise ToolError(f"{name}: expected a list of ids")
    return [item for item in items if item]


def _known(name: str, value: str, known: frozenset[str]) -> str:
    found = _near(value, known)
    if found not in known:
        raise ToolError(f"{name}: {value[:80]} is not in the registry")
    return found


def _near(value: str, known: frozenset[str]) -> str:
    """The id itself, or the only one that differs in case alone."""
    if value in known:
        return value
    alike = [name for name in known if name.casefold() == value.casefold()]
    return alike[0] if len(alike) == 1 else value


def _plain_name(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]", "", str(name).lower())
    return plain[:-2] if plain.endswith("id") and len(plain) > 4 and plain != "agentid" else plain


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return None


def _listed(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part for part in re.split(r"[;,|\s]+", value) if part]
    if not isinstance(value, list):
        return []
    found = []
    for item in value:
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            fields = {_plain_name(key): inner for key, inner in item.items()}
            name = _first(fields, (*_TAKERS, *_IDS))
            found += [name] if name else []
    return found
