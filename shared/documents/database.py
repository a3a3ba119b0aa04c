"""The SQL database of a process: one DuckDB in memory, shared by everything that is queried in it.

Thirty databases would cost five times the memory and forty times the time of one, so relations of all
workspaces live here side by side, each loaded once and dropped when nobody holds it any more; what a query
calls ``events`` is resolved by ``tables``. Nothing that runs here can reach files or the network, load
extensions or change a setting.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import duckdb

from shared.documents.relations import Relation
from shared.documents.tracing import Node, quoted
from shared.errors import ToolError

MEMORY = "256MB"

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": MEMORY,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}
_LOCKS = ("temp_directory = ''", "enable_external_access = false", "lock_configuration = true")
_AGGREGATES = "select function_name from duckdb_functions() where function_type = 'aggregate'"

Cursor = duckdb.DuckDBPyConnection


class Database:
    """An in-memory database that holds relations. Thread safe; each query takes a cursor of its own."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config=_CONFIG)
        for setting in _LOCKS:
            self._connection.execute(f"set {setting}")
        names = self._connection.execute(_AGGREGATES).fetchall()
        self.aggregates = frozenset(str(row[0]).lower() for row in names)
        self._lock = threading.Lock()
        self._numbers: weakref.WeakKeyDictionary[Relation, int] = weakref.WeakKeyDictionary()
        self._count = 0
        self._unused: queue.SimpleQueue[int] = queue.SimpleQueue()

    def cursor(self) -> Cursor:
        with self._lock:
            return self._connection.cursor()

    def load(self, relation: Relation) -> int:
        """The number of a relation, filled into its table (``table_of``) when it is first asked for."""
        with self._lock:
            while not self._unused.empty():
                self._connection.execute(f"drop table if exists {quoted(table_of(self._unused.get()))}")
            number = self._numbers.get(relation)
            if number is None:
                self._count += 1
                number = self._count
                _fill(self._connection, table_of(number), relation)
                self._numbers[relation] = number
                weakref.finalize(relation, self._unused.put, number)
            return number


def table_of(number: int) -> str:
    """The name of a relation's table."""
    return f"__relation_{number}"


def parse(cursor: Cursor, query: str) -> Node:
    """A query as DuckDB's parser sees it.

    Raises:
        ToolError: it is not exactly one SELECT.
    """
    ((text,),) = cursor.execute("select json_serialize_sql(?)", [query]).fetchall()
    tree: Node = json.loads(text)
    if tree.get("error"):
        if tree.get("error_type") == "not implemented":
            raise ToolError("SQL: only SELECT can be run (no PIVOT: use sum(…) filter (where …))")
        raise ToolError(f"SQL: {tree.get('error_message')}")
    if len(tree["statements"]) != 1:
        raise ToolError(f"SQL: one statement at a time (got {len(tree['statements'])})")
    return tree


def unparse(cursor: Cursor, tree: Node) -> str:
    """A query's tree as SQL."""
    ((text,),) = cursor.execute("select json_deserialize_sql(?)", [json.dumps(tree)]).fetchall()
    return str(text)


def expression(cursor: Cursor, sql: str) -> Node:
    """One expression of a select list, with its alias, as a tree."""
    node: Node = parse(cursor, f"select {sql}")["statements"][0]["node"]["select_list"][0]
    return node


_made: dict[int, Database] = {}
_making = threading.Lock()


def database() -> Database:
    """This process's database. A forked child makes its own."""
    with _making:
        pid = os.getpid()
        if pid not in _made:
            _made.clear()
            _made[pid] = Database()
        return _made[pid]


def _fill(connection: Cursor, table: str, relation: Relation) -> None:
    """Create a table column by column: as fast as DuckDB takes Python values."""
    columns = ", ".join(
        _column(number, column.type, column.name) for number, column in enumerate(relation.columns, start=1)
    )
    values: list[Sequence[Any]] = [list(column.values) for column in relation.columns]
    connection.execute(f"create table {quoted(table)} as select {columns}", values)


def _column(number: int, kind: str, name: str) -> str:
    if kind == "JSON":
        return f"unnest(${number}::VARCHAR[])::JSON as {quoted(name)}"
    return f"unnest(${number}::{kind}[]) as {quoted(name)}"
