"""SQL over a workspace's tables and logs, with citations.

One in-memory DuckDB per set of contents and process, used by every task that has these contents, each query
on a cursor of its own: thirty databases would cost five times the memory and forty times the time of one. A
relation is loaded when a query first names it. Queries cannot write, reach files or the network, or change
settings; each is bounded in time, memory and rows.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
from pydantic import JsonValue

from shared.deadline import Deadline
from shared.documents.document import Document
from shared.documents.logs import Logbook
from shared.documents.profile import profile
from shared.documents.relations import PLACES, Catalog, Relation
from shared.documents.tracing import Node, Tracer, Untraceable, parts, quoted
from shared.errors import DeadlinePassed, ToolError
from shared.models import Source, plain

SECONDS = 10.0
MEMORY = "256MB"
ROWS = 500
MOST_SOURCES = 20

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": MEMORY,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}
_LOCKS = ("temp_directory = ''", "enable_external_access = false", "lock_configuration = true")
_TABLE_FUNCTIONS = frozenset({"unnest", "range", "generate_series", "json_each", "json_tree"})
# They make much out of little, beyond the memory limit, and cannot be interrupted meanwhile.
_REFUSED_FUNCTIONS = frozenset({"repeat", "lpad", "rpad", "list_resize", "array_resize", "bitstring"})
_PLACE_COLUMN = re.compile(rf"(?:{'|'.join(PLACES)})(?:_\d+|:\d+)?", re.IGNORECASE)
_RELATION_BITS = 40


@dataclass(frozen=True)
class SqlResult:
    """Rows of a query, as JSON values, each with its citations.

    Args:
        columns: names, as the query has them.
        rows: at most as many as asked for; ``truncated`` says that there were more.
        sources: for each row the rows of files that it came from, at most ``MOST_SOURCES``; empty where the
            query could not be followed (``note`` says so).
        sources_total: for each row how many there were.
        note: what a reader must know: no citations, cells without a value.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[JsonValue, ...], ...]
    sources: tuple[tuple[Source, ...], ...] = ()
    sources_total: tuple[int, ...] = ()
    truncated: bool = False
    note: str | None = None

    def records(self) -> list[dict[str, JsonValue]]:
        """The rows as objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Tables:
    """The relations of one set of contents, and the database over them. Thread safe.

    Args:
        paths: of the workspace.
        document: gives the parsed document of a path; called for tables only.
        logbook: gives the events of the logs.
    """

    def __init__(
        self, paths: Iterable[str], document: Callable[[str], Document], logbook: Callable[[], Logbook]
    ) -> None:
        self._paths = tuple(paths)
        self._document = document
        self._logbook = logbook
        self._lock = threading.Lock()
        self._catalog: Catalog | None = None
        self._database: duckdb.DuckDBPyConnection | None = None
        self._aggregates: frozenset[str] = frozenset()
        self._loaded: list[Relation] = []

    def names(self) -> tuple[str, ...]:
        """What queries may select from."""
        with self._lock:
            return self._open_catalog().names()

    def profile(self) -> str:
        """The relations in few words: names, origins, sizes, columns with types, ranges and examples."""
        with self._lock:
            catalog = self._open_catalog()
            hidden = catalog.log_tables()
            relations = [catalog.get(name) for name in catalog.names() if name not in hidden]
        return profile([relation for relation in relations if relation is not None], sorted(hidden))

    def sql(self, query: str, *, limit: int = ROWS, deadline: Deadline | None = None) -> SqlResult:
        """Run one SELECT.

        Columns that say where a row stands (``_path``, ``_line``, …) are left out of ``*``, since the result
        carries citations; a query that names them gets them.

        Args:
            limit: rows to return, at most.
            deadline: of the task; a query never takes longer than ``SECONDS``.

        Raises:
            ToolError: no SELECT, an unknown relation or column, or more time or memory than allowed.
            DeadlinePassed: the task's time is up.
        """
        seconds = min(SECONDS, deadline.left() if deadline else SECONDS)
        with self._lock:
            cursor = self._open_database().cursor()
        watch = threading.Timer(seconds, cursor.interrupt)
        watch.daemon = True
        watch.start()
        try:
            return self._run(cursor, query, limit)
        except duckdb.InterruptException:
            if deadline and deadline.passed:
                raise DeadlinePassed("no time left for this query") from None
            raise ToolError(f"the query took longer than {seconds:.0f} s: select less") from None
        except duckdb.OutOfMemoryException:
            raise ToolError(f"the query needs more than {MEMORY}: select less") from None
        except duckdb.Error as error:
            raise ToolError(f"SQL: {str(error)[:600]}") from None
        finally:
            watch.cancel()
            cursor.close()

    def _run(self, cursor: duckdb.DuckDBPyConnection, query: str, limit: int) -> SqlResult:
        tree = _parse(cursor, query)
        used = self._check(tree)
        names, rows = _fetch(cursor, query, limit + 1)
        visible = _visible(tree, names)
        notes = [note for relation in used if (note := _faults(relation))]
        traced = self._trace(cursor, tree, len(names), rows, limit + 1) if used else None
        if traced is None and used:
            notes.insert(0, "no citations: this query's rows cannot be followed back to their files")
        if traced is not None:
            rows = traced
        kept = rows[:limit]
        cited = [self._cited(row[len(names) :]) for row in kept] if traced is not None else []
        return SqlResult(
            columns=tuple(names[index] for index in visible),
            rows=tuple(tuple(_json(row[index]) for index in visible) for row in kept),
            sources=tuple(sources[:MOST_SOURCES] for sources in cited),
            sources_total=tuple(len(sources) for sources in cited),
            truncated=len(rows) > limit,
            note="; ".join(notes) or None,
        )

    def _check(self, tree: Node) -> list[Relation]:
        """Refuse what a query must not name; load the relations that it does, and return them."""
        nodes = list(parts(tree))
        ctes = {str(cte["key"]).lower() for node in nodes for cte in node.get("cte_map", {}).get("map", ())}
        named: dict[str, None] = {}
        for node in nodes:
            kind = node.get("type")
            if kind == "BASE_TABLE":
                name = node["table_name"].lower()
                if node["schema_name"] or node["catalog_name"] or name not in ctes:
                    named[name] = None
            elif (
                kind == "TABLE_FUNCTION" and node["function"]["function_name"].lower() not in _TABLE_FUNCTIONS
            ):
                raise ToolError(f"SQL: the function {node['function']['function_name']} is not allowed")
            elif node.get("class") == "FUNCTION" and node["function_name"].lower() in _REFUSED_FUNCTIONS:
                raise ToolError(f"SQL: the function {node['function_name']} is not allowed")
            elif kind == "JOIN" and node["ref_type"] == "NATURAL":
                raise ToolError("SQL: NATURAL JOIN would also compare places; name the columns with USING")
        return [self._load(name) for name in named]

    def _trace(
        self, cursor: duckdb.DuckDBPyConnection, tree: Node, width: int, rows: Sequence[Any], limit: int
    ) -> list[tuple[Any, ...]] | None:
        """The same rows with columns of places at their end; None where that cannot be had."""
        numbers = {relation.name: n << _RELATION_BITS for n, relation in enumerate(self._loaded)}
        tracer = Tracer(numbers, self._aggregates, lambda sql: _expression(cursor, sql))
        try:
            count = tracer.trace(tree["statements"][0]["node"])
            (rewritten,) = cursor.execute("select json_deserialize_sql(?)", [json.dumps(tree)]).fetchall()[0]
            names, traced = _fetch(cursor, rewritten, limit)
        except duckdb.InterruptException:
            raise
        except (Untraceable, duckdb.Error):
            return None
        extended = count and len(names) == width + count
        same = extended and Counter(repr(row[:width]) for row in traced) == Counter(map(repr, rows))
        return traced if same else None

    def _cited(self, places: Iterable[Any]) -> tuple[Source, ...]:
        found: dict[Source, None] = {}
        for place in places:
            for number in place if isinstance(place, list) else [place]:
                if number is not None:
                    relation = self._loaded[number >> _RELATION_BITS]
                    found[relation.sources[number & ((1 << _RELATION_BITS) - 1)]] = None
        return tuple(found)

    def _open_catalog(self) -> Catalog:
        if self._catalog is None:
            self._catalog = Catalog(self._paths, self._document, self._logbook)
        return self._catalog

    def _open_database(self) -> duckdb.DuckDBPyConnection:
        if self._database is None:
            database = duckdb.connect(":memory:", config=_CONFIG)
            for setting in _LOCKS:
                database.execute(f"set {setting}")
            rows = database.execute(
                "select function_name from duckdb_functions() where function_type = 'aggregate'"
            )
            self._aggregates = frozenset(str(row[0]).lower() for row in rows.fetchall())
            self._database = database
        return self._database

    def _load(self, name: str) -> Relation:
        """The relation, filled into the database by the first query that names it."""
        with self._lock:
            found = next((relation for relation in self._loaded if relation.name == name), None)
            if found is not None:
                return found
            catalog = self._open_catalog()
            relation = catalog.get(name)
            if relation is None:
                near = (
                    difflib.get_close_matches(name, catalog.names(), n=3, cutoff=0.5) or catalog.names()[:20]
                )
                raise ToolError(
                    f"SQL: no relation {name[:80]!r}; there is {', '.join(near) or 'none at all'}"
                )
            _fill(self._open_database(), relation)
            self._loaded.append(relation)
            return relation


def _fill(database: duckdb.DuckDBPyConnection, relation: Relation) -> None:
    """Create the relation's table, column by column: as fast as DuckDB takes Python values."""
    columns = ", ".join(
        _column(number, column.type, column.name) for number, column in enumerate(relation.columns, 1)
    )
    values = [list(column.values) for column in relation.columns]
    database.execute(f"create table {quoted(relation.name)} as select {columns}", values)


def _column(number: int, kind: str, name: str) -> str:
    if kind == "JSON":
        return f"unnest(${number}::VARCHAR[])::JSON as {quoted(name)}"
    return f"unnest(${number}::{kind}[]) as {quoted(name)}"


def _parse(cursor: duckdb.DuckDBPyConnection, query: str) -> Node:
    ((text,),) = cursor.execute("select json_serialize_sql(?)", [query]).fetchall()
    tree: Node = json.loads(text)
    if tree.get("error"):
        if tree.get("error_type") == "not implemented":
            raise ToolError("SQL: only SELECT can be run (no PIVOT: use sum(…) filter (where …))")
        raise ToolError(f"SQL: {tree.get('error_message')}")
    if len(tree["statements"]) != 1:
        raise ToolError(f"SQL: one statement at a time (got {len(tree['statements'])})")
    return tree


def _expression(cursor: duckdb.DuckDBPyConnection, sql: str) -> Node:
    node: Node = _parse(cursor, f"select {sql}")["statements"][0]["node"]["select_list"][0]
    return node


def _fetch(
    cursor: duckdb.DuckDBPyConnection, query: str, limit: int
) -> tuple[list[str], list[tuple[Any, ...]]]:
    cursor.execute(query)
    names = [column[0] for column in cursor.description or ()]
    return names, cursor.fetchmany(limit)


def _visible(tree: Node, names: Sequence[str]) -> list[int]:
    """Indexes of the columns to show: places that came with ``*`` are left out."""
    node = tree["statements"][0]["node"]
    while node["type"] == "SET_OPERATION_NODE":
        node = node["children"][0]
    if node["type"] != "SELECT_NODE" or not any(item.get("class") == "STAR" for item in node["select_list"]):
        return list(range(len(names)))
    asked = {
        str(name).lower()
        for item in node["select_list"]
        for name in (item.get("alias"), *item.get("column_names", [])[-1:])
        if name
    }
    return [i for i, name in enumerate(names) if name.lower() in asked or not _PLACE_COLUMN.fullmatch(name)]


def _faults(relation: Relation) -> str | None:
    faulty = [f"{column.name}: {column.faults}" for column in relation.columns if column.faults]
    if not faulty:
        return None
    return (
        f"{relation.name} has cells without a value (errors, or formulas never calculated), null here: "
        f"{', '.join(faulty)}"
    )


def _json(value: Any) -> JsonValue:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float | None | bool | int | str):
        return None if isinstance(value, float) and not math.isfinite(value) else value
    try:
        return plain(value)
    except ValueError:
        return str(value)
