"""Makes a query return, beside its rows, which rows of which relations each of them came from.

DuckDB's own parser gives the query as a tree. Each SELECT is extended by columns that hold places: a place
is a base row's ``rowid`` plus a number of its relation. Grouped and distinct queries collect the places of
each group in a list. Subqueries in FROM and CTEs are traced through; those in WHERE only choose rows and
are not.

What cannot be traced (recursion, UNION without ALL) raises ``Untraceable``; the caller runs the query as it
was written, and in any case compares: tracing must never change an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

Node = dict[str, Any]

PREFIX = "__place_"


class Untraceable(Exception):
    """This query's rows cannot be followed back to rows of relations."""


class _Place(NamedTuple):
    """A column of places: its SQL, whether its values are lists, and where ``*`` would find it.

    ``column`` is "" where the place is computed from ``rowid``, which ``*`` leaves out by itself.
    """

    sql: str
    is_list: bool
    alias: str = ""
    column: str = ""


class Tracer:
    """Traces one query.

    Args:
        numbers: relation name (lower case) → the number that is added to its ``rowid``.
        aggregates: names of all aggregate functions.
        expression: parses one SQL expression with an alias into a node of the tree.
    """

    def __init__(
        self, numbers: Mapping[str, int], aggregates: frozenset[str], expression: Callable[[str], Node]
    ) -> None:
        self._numbers = numbers
        self._aggregates = aggregates
        self._expression = expression
        self._count = 0

    def trace(self, query: Node) -> int:
        """Extend a query in place; returns how many columns of places it has now.

        Raises:
            Untraceable: the query was left in an undefined state.
        """
        return len(self._query(query, {}))

    def _query(self, node: Node, outer: Mapping[str, list[_Place]]) -> list[_Place]:
        """Extend a query; returns its columns of places, as seen by whoever selects from it."""
        scope = dict(outer)
        for cte in node.get("cte_map", {}).get("map", ()):
            scope[str(cte["key"]).lower()] = self._query(cte["value"]["query_node"], scope)
        if node["type"] == "SELECT_NODE":
            return self._select(node, scope)
        if node["type"] == "SET_OPERATION_NODE" and node["setop_type"] == "UNION" and node["setop_all"]:
            return self._union(node, scope)
        raise Untraceable(node["type"])

    def _union(self, node: Node, scope: Mapping[str, list[_Place]]) -> list[_Place]:
        """All branches get equally many columns of places; it does not matter whose stands in which."""
        branches = [(child, self._query(child, scope)) for child in node["children"]]
        width = max(len(places) for _, places in branches)
        widest = next(places for _, places in branches if len(places) == width)
        for child, places in branches:
            if [place.is_list for place in places] != [place.is_list for place in widest[: len(places)]]:
                raise Untraceable("branches differ")
            if len(places) < width and child["type"] != "SELECT_NODE":
                raise Untraceable("branches differ")
            child.setdefault("select_list", []).extend(
                self._expression(f"null as {self._new()}") for _ in range(width - len(places))
            )
        return widest

    def _select(self, node: Node, scope: Mapping[str, list[_Place]]) -> list[_Place]:
        places = list(self._from(node["from_table"], scope))
        _hide(places, node["select_list"])
        grouped = self._is_grouped(node)
        distinct = [
            modifier
            for modifier in node["modifiers"]
            if modifier["type"] == "DISTINCT_MODIFIER" and not modifier["distinct_on_targets"]
        ]
        if distinct and grouped:
            raise Untraceable("distinct groups")
        if distinct:  # select distinct a, b … is select a, b … group by all
            node["modifiers"] = [modifier for modifier in node["modifiers"] if modifier not in distinct]
            node["aggregate_handling"] = "FORCE_AGGREGATES"
        exported = []
        for place in places:
            name = self._new()
            sql = place.sql
            if grouped or distinct:
                sql = f"flatten(list({sql}))" if place.is_list else f"list({sql})"
            node["select_list"].append(self._expression(f"{sql} as {name}"))
            exported.append(_Place(name, place.is_list or grouped or bool(distinct), column=name))
        return exported

    def _from(self, node: Node, scope: Mapping[str, list[_Place]]) -> Iterator[_Place]:
        if node["type"] == "BASE_TABLE":
            name = node["table_name"].lower()
            alias = node["alias"] or node["table_name"]
            if name in scope:
                yield from _seen_as(alias, scope[name])
            elif name in self._numbers:
                yield _Place(f"{quoted(alias)}.rowid + {self._numbers[name]}", False)
        elif node["type"] == "JOIN":
            yield from self._from(node["left"], scope)
            if node["join_type"] not in {"SEMI", "ANTI"}:
                yield from self._from(node["right"], scope)
        elif node["type"] == "SUBQUERY":
            node["alias"] = node["alias"] or self._new()
            yield from _seen_as(node["alias"], self._query(node["subquery"]["node"], scope))
        elif node["type"] not in {"EMPTY", "TABLE_FUNCTION", "EXPRESSION_LIST"}:
            raise Untraceable(node["type"])

    def _is_grouped(self, node: Node) -> bool:
        return bool(
            node["group_expressions"]
            or node["having"]
            or node["aggregate_handling"] == "FORCE_AGGREGATES"
            or any(self._has_aggregate(expression) for expression in node["select_list"])
        )

    def _has_aggregate(self, expression: Node) -> bool:
        return any(
            part.get("class") == "FUNCTION" and part["function_name"].lower() in self._aggregates
            for part in parts(expression, into_queries=False)
        )

    def _new(self) -> str:
        self._count += 1
        return f"{PREFIX}{self._count}"


def _seen_as(alias: str, places: Iterable[_Place]) -> Iterator[_Place]:
    """The places of a query, as seen by another that selects from it under an alias."""
    for place in places:
        yield place._replace(sql=f"{quoted(alias)}.{place.column}", alias=alias)


def _hide(places: Iterable[_Place], select_list: Iterable[Node]) -> None:
    """Keep the columns of places out of every ``*``."""
    for item in select_list:
        if item.get("class") == "STAR" and not item["columns"]:
            whose = item["relation_name"].lower()
            hidden = {place.column for place in places if place.column and whose in {"", place.alias.lower()}}
            item["exclude_list"].extend(sorted(hidden))


def named_tables(tree: Any, ctes: frozenset[str] = frozenset()) -> Iterator[Node]:
    """The BASE_TABLE nodes of a tree that mean relations, not CTEs that are known where they stand."""
    if isinstance(tree, list):
        for value in tree:
            yield from named_tables(value, ctes)
        return
    if not isinstance(tree, dict):
        return
    if tree.get("type") == "BASE_TABLE" and (tree["schema_name"] or tree["table_name"].lower() not in ctes):
        yield tree
    for cte in (tree.get("cte_map") or {}).get("map", ()):
        name, body = str(cte["key"]).lower(), cte["value"]["query_node"]
        # only a recursive one means itself by its name
        yield from named_tables(body, ctes | {name} if body["type"] == "RECURSIVE_CTE_NODE" else ctes)
        ctes |= {name}
    for key, value in tree.items():
        if key != "cte_map":
            yield from named_tables(value, ctes)


def parts(tree: Any, *, into_queries: bool = True) -> Iterator[Node]:
    """Every object in a tree, outermost first; with ``into_queries=False`` not those of nested queries."""
    if isinstance(tree, dict):
        if not into_queries and str(tree.get("type", "")).endswith("_NODE"):
            return
        yield tree
        for value in tree.values():
            yield from parts(value, into_queries=into_queries)
    elif isinstance(tree, list):
        for value in tree:
            yield from parts(value, into_queries=into_queries)


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
