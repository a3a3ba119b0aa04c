"""Delegations: who hands access to whom, found in a workspace's registry export by looking.

The export is a csv or json file whose records are pairs (``delegator``/``delegate``, ``from``/``to``, …),
or which has lists at each agent (``"delegates_to": […]``). Where no names are recognised, a table that
links the records of one other table is taken. A record that ended (a date in ``ended``, a status
``revoked``) holds no delegation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.documents.document import Document, Table
from shared.documents.operator_files import OperatorFiles
from shared.documents.registry import format_of
from shared.errors import ToolError

# Names are compared in lower case, without punctuation and without a final "id" or "no".
_PAIRS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("delegator", "delegatedby"), ("delegate", "delegatee", "delegatedto", "to", "agent")),
    (("grantor", "grantedby"), ("grantee", "grantedto", "to", "agent", "resource")),
    (("from", "fromagent", "fromunit"), ("to", "toagent", "tounit")),
    (("source", "src"), ("target", "dst", "destination")),
    (("giver",), ("taker", "receiver")),
    (("parent",), ("child", "delegate", "delegatee", "grantee", "to", "target")),
    (("principal",), ("delegate", "agent", "resource")),
)
_LISTS = (
    "delegatesto", "delegates", "delegations", "delegateto", "candelegateto", "grants", "grantsto", "access",
    "accessto", "canaccess", "cancall", "canactas", "mayact", "mayactas", "trusts", "edges", "links",
)  # fmt: skip
_ITEMS = ("to", "delegate", "grantee", "agent", "target", "id", "name")
_STATES = ("status", "state")
_ENDS = (
    "ended", "endedat", "endedon", "end", "closed", "closedat", "closedon", "revoked", "revokedat",
    "revokedon", "withdrawn", "withdrawnat", "withdrawnon", "removed", "removedat", "terminated", "cancelled",
)  # fmt: skip
_DEAD = frozenset(
    {"revoked", "removed", "expired", "inactive", "disabled", "deleted", "withdrawn", "suspended"}
)
_WORDS = ("registry", "delegat", "grant", "register")


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


def find_delegations(
    paths: Iterable[str], document: Callable[[str], Document], operator: OperatorFiles
) -> tuple[list[Delegation], frozenset[str]]:
    """Find the registry export among a workspace's csv and json files.

    Where several files hold delegations, those count that the operator files name; of these, those whose ends
    are records of other files; of these, those that call themselves a registry, delegations or grants.

    Returns:
        The delegations, and the ids of all records that are none.

    Raises:
        ToolError: no file holds delegations.
    """
    tables = {
        (path, table.name): table
        for path in sorted(paths)
        if format_of(path) in {"csv", "json"}
        for table in document(path).tables
    }
    ids = {
        key: frozenset(locator.record for locator in table.locators if locator.record)
        for key, table in tables.items()
    }
    found = {key: edges for key, table in tables.items() if (edges := _by_names(key[0], table))}
    if not found:
        for key, table in tables.items():
            others = [members for other, members in ids.items() if other != key]
            if edges := _by_links(key[0], table, others):
                found[key] = edges
    known = frozenset(name for key, members in ids.items() if key not in found for name in members)

    def in_operator_files(key: tuple[str, str]) -> bool:
        return any(key[0] in statement for statement in operator.statements)

    def between_records(key: tuple[str, str]) -> bool:
        return all({edge.giver, edge.taker} <= known for edge in found[key])

    def by_its_name(key: tuple[str, str]) -> bool:
        return any(word in key[0].lower() for word in _WORDS)

    chosen = list(found)
    for wanted in (in_operator_files, between_records, by_its_name):
        chosen = [key for key in chosen if wanted(key)] or chosen
    if not chosen:
        raise ToolError("this workspace has no registry export with delegations")
    return [edge for key in chosen for edge in found[key]], known


def ends_of(item: Mapping[str, Any]) -> tuple[str, str] | None:
    """The two ends of a delegation that is given as an object; None where it has other fields."""
    columns = {_plain(name): [value] for name, value in item.items()}
    pair = _pair_of(columns)
    return (_text(pair[0][0]), _text(pair[1][0])) if pair else None


def _by_names(path: str, table: Table) -> list[Delegation]:
    """A table's delegations, by the names of its columns: pairs, or lists at each agent."""
    columns = _columns(table)
    pair = _pair_of(columns)
    lists = [name for name in _LISTS if name in columns]
    if "value" in columns and any(word in table.name.lower() for word in _WORDS):
        lists.append("value")  # {"delegations": {"a": ["b", "c"]}}
    found: list[Delegation] = []
    for row, locator in enumerate(table.locators):
        if _has_ended(columns, row):
            continue
        if pair:
            found += _delegation(pair, row, path, locator.record)
        else:
            holder = locator.record or table.name.rpartition(".")[2]
            takers = [item for name in lists for item in _listed(columns[name][row])]
            found += [Delegation(holder, taker, path, locator.record) for taker in takers]
    return found


def _by_links(path: str, table: Table, others: Iterable[frozenset[str]]) -> list[Delegation]:
    """A table's delegations, if exactly two of its columns hold ids of one other table: giver, then taker."""
    columns = _columns(table)
    for members in others:
        ends = [
            values
            for values in table.values
            if len(values) > 1 and sum(_text(value) in members for value in values) >= 0.9 * len(values)
        ]
        if len(ends) == 2:
            return [
                edge
                for row, locator in enumerate(table.locators)
                if not _has_ended(columns, row)
                for edge in _delegation((ends[0], ends[1]), row, path, locator.record)
            ]
    return []


def _columns(table: Table) -> dict[str, Sequence[Any]]:
    return {_plain(name): values for name, values in zip(table.columns, table.values, strict=True)}


def _pair_of(columns: Mapping[str, Sequence[Any]]) -> tuple[Sequence[Any], Sequence[Any]] | None:
    for givers, takers in _PAIRS:
        giver, taker = (next((columns[n] for n in names if n in columns), None) for names in (givers, takers))
        if giver is not None and taker is not None:
            return giver, taker
    return None


def _delegation(
    pair: tuple[Sequence[Any], Sequence[Any]], row: int, path: str, record: str | None
) -> list[Delegation]:
    giver, taker = _text(pair[0][row]), _text(pair[1][row])
    return [Delegation(giver, taker, path, record)] if giver and taker and giver != taker else []


def _has_ended(columns: Mapping[str, Sequence[Any]], row: int) -> bool:
    if any(_text(columns[name][row]).lower() in _DEAD for name in _STATES if name in columns):
        return True
    ends = (_text(columns[name][row]).lower() for name in _ENDS if name in columns)
    return any(end not in {"", "false", "no", "0", "-"} for end in ends)


def _plain(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]", "", str(name).lower())
    return plain[:-2] if plain.endswith(("id", "no")) and len(plain) > 4 else plain


def _text(value: Any) -> str:
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _listed(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part for part in re.split(r"[;,|\s]+", value) if part]
    if not isinstance(value, list):
        return []
    found = []
    for item in value:
        fields = {_plain(key): _text(inner) for key, inner in item.items()} if isinstance(item, dict) else {}
        found.append(next((fields[name] for name in _ITEMS if fields.get(name)), "") or _text(item))
    return [item for item in found if item]
