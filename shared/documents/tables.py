"""SQL over a workspace's tables and logs, with citations.

A query is parsed, the relations that it names are loaded into the process's database, and it is run twice:
as it stands, and extended so that each row tells which rows of files it came from (``tracing``). Queries
cannot write or reach anything outside; each is bounded in time, memory and rows.
"""

from __future__ import annotations

import difflib
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
from pydantic import JsonValue

from shared.deadline import Deadline
from shared.documents.catalog import Catalog
from shared.documents.database import MEMORY, Cursor, database, expression, parse, table_of, unparse
from shared.documents.document import Document
from shared.documents.logs import Logbook
from shared.documents.profile import profile
from shared.documents.relations import PLACES, Relation
from shared.documents.tracing import Node, Tracer, Untraceable, named_tables, parts
from shared.errors import DeadlinePassed, ToolError
from shared.models import Source, plain

SECONDS = 10.0
ROWS = 500
MOST_SOURCES = 20

_TABLE_FUNCTIONS = frozenset({"unnest", "range", "generate_series", "json_each", "json_tree"})
# They make much out of little, beyond the memory limit, and cannot be interrupted meanwhile.
_REFUSED_FUNCTIONS = frozenset({"repeat", "lpad", "rpad", "list_resize", "array_resize", "bitstring"})
_PLACE_COLUMN = re.compile(rf"(?:{'|'.join(PLACES)})(?:_\d+|:\d+)?", re.IGNORECASE)
_ROW_BITS = 40


@dataclass(frozen=True)
class SqlResult:
    """Rows of a query, as JSON values, each with its citations.

    Args:
        columns: names, as the query has them.
        rows: at most as many as asked for; ``truncated`` says that there were more.
        sources: for each row the rows of files that it came from, at most ``MOST_SOURCES``; empty where the
            query could not be followed (``note`` says so).
        sources_total: for each row how many rows of files there were.
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
    """The relations of one set of contents. Thread safe; nothing is loaded before a query names it.

    Args:
        shas: path → sha256 of every file.
        document: gives the parsed document of a path; called for tables only.
        logbook: gives the events of the logs.
    """

    def __init__(
        self,
        shas: Mapping[str, str],
        document: Callable[[str], Document],
        logbook: Callable[[], Logbook],
    ) -> None:
        self._parts = (shas, document, logbook)
        self._lock = threading.RLock()
        self._made: Catalog | None = None

    def names(self) -> tuple[str, ...]:
        """What queries may select from."""
        with self._lock:
            return self._catalog().names()

    def profile(self) -> str:
        """The relations in few words: names, origins, sizes, columns with types, ranges and examples."""
        with self._lock:
            catalog = self._catalog()
            hidden = catalog.log_tables()
            relations = [catalog.get(name) for name in catalog.names() if name not in hidden]
        return profile([relation for relation in relations if relation is not None], sorted(hidden))

    def files(self) -> Mapping[str, tuple[str, str]]:
        """Of each relation but ``events``, the path of its file and what the table is called in it."""
        with self._lock:
            return dict(self._catalog().tables())

    def sql(
        self,
        query: str,
        *,
        limit: int = ROWS,
        deadline: Deadline | None = None,
        aliases: Mapping[str, tuple[str, str]] | None = None,
    ) -> SqlResult:
        """Run one SELECT.

        Columns that say where a row stands (``_path``, ``_line``, …) are left out of ``*``, since the result
        carries citations; a query that names them gets them.

        Args:
            limit: rows to return, at most.
            deadline: of the task; a query never takes longer than ``SECONDS``.
            aliases: further names of tables in this query: path of the file, and the table's name in it
                (empty: its first).

        Raises:
            ToolError: no SELECT, an unknown relation or column, or more time or memory than allowed.
            DeadlinePassed: the task's time is up.
        """
        seconds = min(SECONDS, deadline.left() if deadline else SECONDS)
        cursor = database().cursor()
        try:
            tree = parse(cursor, query)
            used = self._resolve(tree, aliases or {})
            with _interrupting(cursor, seconds):
                return _run(cursor, tree, used, limit)
        except duckdb.InterruptException:
            if deadline and deadline.passed:
                raise DeadlinePassed("no time left for this query") from None
            raise ToolError(f"the query took longer than {seconds:.0f} s: select less") from None
        except duckdb.OutOfMemoryException:
            raise ToolError(f"the query needs more than {MEMORY}: select less") from None
        except duckdb.Error as error:
            raise ToolError(f"SQL: {str(error)[:600]}") from None
        finally:
            cursor.close()

    def _catalog(self) -> Catalog:
        if self._made is None:
            self._made = Catalog(*self._parts)
        return self._made

    def _resolve(self, tree: Node, aliases: Mapping[str, tuple[str, str]]) -> dict[int, Relation]:
        """Refuse what a query must not use; let its names mean loaded tables; the relations by number."""
        for node in parts(tree):
            function = node.get("function", node) if node.get("type") == "TABLE_FUNCTION" else node
            name = str(function.get("function_name", "")).lower()
            allowed = name in _TABLE_FUNCTIONS if function is not node else name not in _REFUSED_FUNCTIONS
            if not allowed:
                raise ToolError(f"SQL: the function {name} is not allowed")
            if node.get("type") == "SHOW_REF" and node.get("query") is None:
                raise ToolError(f"SQL: relations are {', '.join(self.names())}; DESCRIBE shows one")
            if node.get("type") == "JOIN" and node["ref_type"] == "NATURAL":
                raise ToolError("SQL: NATURAL JOIN would also compare places; name the columns with USING")
        used: dict[int, Relation] = {}
        for node in named_tables(tree):
            relation = self._relation(self._unaliased(node["table_name"], aliases))
            number = database().load(relation)
            used[number] = relation
            node["alias"] = node["alias"] or node["table_name"]
            node["table_name"] = node["qualified_name"]["path"][-1] = table_of(number)
        return used

    def _unaliased(self, name: str, aliases: Mapping[str, tuple[str, str]]) -> str:
        alias = next((alias for alias in aliases if alias.casefold() == name.casefold()), None)
        if alias is None:
            return name
        path, table = aliases[alias]
        with self._lock:
            found = self._catalog().named(path, table)
        if found is None:
            raise ToolError(
                f"SQL: {alias}: {path} has no table {table!r}" if table else f"SQL: no table in {path}"
            )
        return found

    def _relation(self, name: str) -> Relation:
        with self._lock:
            catalog = self._catalog()
            relation = catalog.get(name.lower())
            if relation is None:
                known = catalog.names()
                near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5) or known[:20]
                raise ToolError(
                    f"SQL: no relation {name[:80]!r}; there is {', '.join(near) or 'none at all'}"
                )
            return relation


@contextmanager
def _interrupting(cursor: Cursor, seconds: float) -> Iterator[None]:
    """Interrupt what runs on a cursor inside for longer than so many seconds."""
    over = threading.Event()

    def watch() -> None:
        left = seconds
        while not over.wait(left):
            cursor.interrupt()
            left = 0.05  # again: an interrupt that comes between two statements is lost

    thread = threading.Thread(target=watch, name="sql-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _run(cursor: Cursor, tree: Node, used: Mapping[int, Relation], limit: int) -> SqlResult:
    names, rows = _fetch(cursor, unparse(cursor, tree), limit + 1)
    visible = _visible(tree, names)
    notes = [note for relation in used.values() if (note := _faults(relation))]
    traced = _trace(cursor, tree, used, len(names), rows, limit + 1) if used else None
    if traced is None and used:
        notes.insert(0, "no citations: this query's rows cannot be followed back to their files")
    rows = rows if traced is None else traced
    cited = [_cited(row[len(names) :], used) for row in rows[:limit]] if traced is not None else []
    return SqlResult(
        columns=tuple(names[index] for index in visible),
        rows=tuple(tuple(_json(row[index]) for index in visible) for row in rows[:limit]),
        sources=tuple(sources for sources, _ in cited),
        sources_total=tuple(total for _, total in cited),
        truncated=len(rows) > limit,
        note="; ".join(notes) or None,
    )


def _trace(
    cursor: Cursor, tree: Node, used: Iterable[int], width: int, rows: Sequence[Any], limit: int
) -> list[tuple[Any, ...]] | None:
    """The same rows with columns of places at their end; None where that cannot be had."""
    numbers = {table_of(number): number << _ROW_BITS for number in used}
    tracer = Tracer(numbers, database().aggregates, lambda sql: expression(cursor, sql))
    try:
        count = tracer.trace(tree["statements"][0]["node"])
        names, traced = _fetch(cursor, unparse(cursor, tree), limit)
    except duckdb.InterruptException:
        raise
    except (Untraceable, duckdb.Error):
        return None
    extended = count and len(names) == width + count
    same = extended and Counter(repr(row[:width]) for row in traced) == Counter(map(repr, rows))
    return traced if same else None


def _cited(places: Iterable[Any], used: Mapping[int, Relation]) -> tuple[tuple[Source, ...], int]:
    """The first citations of a row of the result, and how many rows of relations it came from."""
    numbers = dict.fromkeys(
        number
        for place in places
        for number in (place if isinstance(place, list) else [place])
        if number is not None
    )
    sources = (used[number >> _ROW_BITS].source(number & ((1 << _ROW_BITS) - 1)) for number in numbers)
    distinct: dict[Source, None] = {}
    for source in sources:
        distinct[source] = None
        if len(distinct) == MOST_SOURCES:
            break
    return tuple(distinct), len(numbers)


def _fetch(cursor: Cursor, query: str, limit: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    cursor.execute(query)
    names = [column[0] for column in cursor.description or ()]
    return names, cursor.fetchmany(limit)


def _visible(tree: Node, names: Sequence[str]) -> list[int]:
    """Indexes of the columns to show: places that came with ``*`` are left out."""
    node = tree["statements"][0]["node"]
    while node["type"] == "SET_OPERATION_NODE":
        node = node["children"][0]
    items = node.get("select_list", [])
    if not any(item.get("class") == "STAR" for item in items):
        return list(range(len(names)))
    asked = {str(item.get("alias") or (item.get("column_names") or [""])[-1]).lower() for item in items}
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
