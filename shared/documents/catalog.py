"""The catalog of a workspace: which relations there are, and what queries call them.

A relation is made when it is first asked for. Workspaces that hold the same file at the same path share the
relation, and so its table in the database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from weakref import WeakKeyDictionary, WeakValueDictionary

from shared.documents.document import Document, Table
from shared.documents.logs import Logbook
from shared.documents.paths import extension
from shared.documents.relations import EVENTS, FORMATS, Relation, from_logs, from_table


class Catalog:
    """The relations of a workspace by name, each made when it is first asked for. Not thread safe.

    Args:
        shas: path → sha256 of the workspace's files.
        document: gives the parsed document of a path.
        logbook: gives the events.
    """

    def __init__(
        self,
        shas: Mapping[str, str],
        document: Callable[[str], Document],
        logbook: Callable[[], Logbook],
    ) -> None:
        self._shas = shas
        self._document = document
        self._logbook = logbook
        self._made: dict[str, Relation] = {}
        tables: list[tuple[str, str]] = []
        for path in sorted(shas):
            kind = extension(path)
            if kind == "jsonl":
                tables.append((path, ""))  # always one table: no need to parse a log for its name
            elif kind in FORMATS:
                tables += [(path, table.name) for table in document(path).tables]
        self._keys = {name: key for key, name in name_tables(tables).items()}

    def names(self) -> tuple[str, ...]:
        """``events``, where there are logs, then the tables' names."""
        return (*([EVENTS] if self._logbook().events else []), *self._keys)

    def tables(self) -> Mapping[str, tuple[str, str]]:
        """Of each table's name, the path of its file and what the table is called in it."""
        return self._keys

    def named(self, path: str, table: str) -> str | None:
        """What queries call a file's table (without a name: its first); None where there is none."""
        wanted = (path, table.casefold())
        for name, (file, called) in self._keys.items():
            if (file, called.casefold()) == wanted or (file == path and not table):
                return name
        return None

    def log_tables(self) -> frozenset[str]:
        """Names of the tables whose rows ``events`` holds already."""
        logs = {event.path for event in self._logbook().events}
        return frozenset(name for name, (path, _) in self._keys.items() if path in logs)

    def get(self, name: str) -> Relation | None:
        """The relation of that name (in lower case), None where there is none."""
        if name not in self._made:
            if name == EVENTS and self._logbook().events:
                self._made[name] = _of_logs(self._logbook())
            elif name in self._keys:
                self._made[name] = self._of_table(name, *self._keys[name])
        return self._made.get(name)

    def _of_table(self, name: str, path: str, table_name: str) -> Relation:
        key = (name, path, self._shas[path], table_name)
        relation = _tables.get(key)
        if relation is None:
            document = self._document(path)
            table = next((table for table in document.tables if table.name == table_name), None)
            relation = from_table(name, path, document, table or Table(table_name, (), (), ()))
            _tables[key] = relation
        return relation


_tables: WeakValueDictionary[tuple[str, str, str, str], Relation] = WeakValueDictionary()
_logs: WeakKeyDictionary[Logbook, Relation] = WeakKeyDictionary()


def _of_logs(logbook: Logbook) -> Relation:
    relation = _logs.get(logbook)
    if relation is None:
        relation = _logs[logbook] = from_logs(logbook)
    return relation


def name_tables(tables: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A name for each (path, table name): the file's, with the table's where it has several, else longer.

    Deterministic: depends on the set of paths and table names alone.
    """
    listed = sorted(tables)
    several = {path for path, _ in listed if sum(other == path for other, _ in listed) > 1}
    named: dict[tuple[str, str], str] = {}
    for longer in range(3):
        wanted: dict[str, list[tuple[str, str]]] = {}
        for key in listed:
            if key not in named:
                wanted.setdefault(_name(key, several=key[0] in several, longer=longer), []).append(key)
        taken = {EVENTS, *named.values()}
        for name, keys in wanted.items():
            if len(keys) == 1 and name not in taken:
                named[keys[0]] = name
    for key in listed:
        if key not in named:
            taken = {EVENTS, *named.values()}
            base = _name(key, several=True, longer=2)
            named[key] = next(name for n in range(2, len(listed) + 3) if (name := f"{base}_{n}") not in taken)
    return named


def _name(key: tuple[str, str], *, several: bool, longer: int) -> str:
    path, table = key
    folder, _, file = path.rpartition("/")
    stem, _, kind = file.rpartition(".")
    words = [stem or kind, *([table] if several and table else [])]
    if longer >= 1:
        words.insert(0, folder.rpartition("/")[2])
    if longer >= 2:
        words.append(kind)
    name = re.sub(r"[^0-9a-zA-Z]+", "_", "_".join(words)).strip("_").lower() or "table"
    return f"t_{name}" if name[0].isdigit() else name
