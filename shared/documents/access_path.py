"""``access_path``: the shortest delegation chain on the registry export.

What changed after the export counts only if the caller passes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from shared.documents.delegations import Delegation, ends_of
from shared.errors import ToolError

_ARROW = re.compile(r"\s*(?:->|→|=>|>|,|\|)\s*")


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
        ends = list(ends_of(item) or ())
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
