"""Relations: tables with names, typed columns and places, ready for SQL.

Every table of a workspace's csv, json, jsonl, xlsx and ods files is one; ``events`` joins all logs in UTC.
Columns are called as in the file; ``_path``, ``_line``, ``_record``, ``_sheet`` and ``_row`` say where a
row stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from shared.documents.document import Document, Fault, Table, shown
from shared.documents.locators import Locator
from shared.documents.logs import KEYS, Logbook
from shared.documents.timestamps import parse_time
from shared.models import Source

EVENTS = "events"
FORMATS = frozenset({"csv", "json", "jsonl", "xlsx", "ods"})
PLACES = ("_path", "_line", "_record", "_sheet", "_row")

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_BIGINT = 2**63


@dataclass(frozen=True)
class Column:
    """A column: its name, its SQL type, one value per row, and how many cells held no value but an error."""

    name: str
    type: str
    values: Sequence[Any]
    faults: int = 0


@dataclass(frozen=True, eq=False)
class Relation:
    """A table as SQL sees it.

    Args:
        name: what queries call it.
        title: where it comes from, for people and models: a path, and the sheet or key in it.
        columns: its own columns, then those of ``PLACES`` that its format has.
        places: of each row, the file's path and where in it the row stands.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    places: Sequence[tuple[str, Locator]]

    def __len__(self) -> int:
        return len(self.places)

    def source(self, row: int) -> Source:
        """The citation of a row, counted from 0."""
        path, locator = self.places[row]
        return locator.source(path)


def from_table(name: str, path: str, document: Document, table: Table) -> Relation:
    """A document's table as a relation; each row is cited as its locator says."""
    from_text = document.format == "csv"
    columns = [
        _typed(column, _cells(table, index, values), from_text=from_text)
        for index, (column, values) in enumerate(zip(_free(table.columns), table.values, strict=True))
    ]
    notes = [table.name] if table.name else []
    notes += ["hidden sheet"] if table.hidden else []
    notes += [f"{len(table.hidden_rows)} rows hidden"] if table.hidden_rows else []
    title = f"{path} [{', '.join(notes)}]" if notes else path
    places = [(path, locator) for locator in table.locators]
    return Relation(name, title, (*columns, *_places(places, table.lines)), places)


def from_logs(logbook: Logbook) -> Relation:
    """All log events as one relation: UTC time, agent, action, target, trace, then their other fields."""
    events = logbook.events
    rows = [_flat(event.fields()) for event in events]
    own = (
        _moments("time", [event.moment for event in events]),
        *(
            Column(key, "VARCHAR", [", ".join(event.keys[index]) or None for event in events])
            for index, key in enumerate(KEYS)
        ),
    )
    names = list(dict.fromkeys(name for row in rows for name in row))
    spelled = _free((*(column.name for column in own), *names))[len(own) :]
    others = [
        _typed(column, [row.get(name) for row in rows], from_text=False)
        for name, column in zip(names, spelled, strict=True)
    ]
    places = [(event.path, Locator(line=event.line)) for event in events]
    files = sorted({event.path for event in events})
    return Relation(EVENTS, f"{len(files)} log files, UTC", (*own, *others, *_places(places, ())), places)


def _free(columns: Sequence[str]) -> tuple[str, ...]:
    """Column names that collide neither with each other nor with ``PLACES`` or SQL's ``rowid``."""
    taken = {*PLACES, "rowid"}
    result = []
    for column in columns:
        name, again = column, 2
        while name.casefold() in taken:
            name, again = f"{column}_{again}", again + 1
        taken.add(name.casefold())
        result.append(name)
    return tuple(result)


def _places(places: Sequence[tuple[str, Locator]], lines: Sequence[int]) -> list[Column]:
    columns = [Column("_path", "VARCHAR", [path for path, _ in places])]
    for name, kind in (("line", "BIGINT"), ("record", "VARCHAR"), ("sheet", "VARCHAR"), ("row", "BIGINT")):
        values: Sequence[Any] = [getattr(locator, name) for _, locator in places]
        if name == "line" and lines:
            values = lines
        if any(value is not None for value in values):
            columns.append(Column(f"_{name}", kind, values))
    return columns


def _cells(table: Table, index: int, values: Sequence[Any]) -> list[Any]:
    """A column's values; where text and other kinds are mixed, all as the text that is shown."""
    kinds = {type(value) for value in values if value is not None and not isinstance(value, Fault)}
    if str in kinds and len(kinds) > 1 and not kinds & {list, dict}:
        return [
            value if value is None or isinstance(value, Fault) else table.cell(row, index).shown
            for row, value in enumerate(values)
        ]
    return list(values)


def _typed(name: str, values: Sequence[Any], *, from_text: bool) -> Column:
    """A column under the narrowest SQL type that holds all of its values.

    Args:
        from_text: the format knows text alone (csv), so numbers and booleans are looked for in it. Leading
            zeros keep a column text: they belong to identifiers.
    """
    faults = sum(isinstance(value, Fault) for value in values)
    cells = [None if isinstance(value, Fault) else value for value in values]
    if from_text:
        cells = [None if value is None or not value.strip() else value for value in cells]
    kinds = {type(value) for value in cells if value is not None}
    if kinds == {str}:
        return _from_texts(name, cells, from_text=from_text, faults=faults)
    if not kinds:
        return Column(name, "VARCHAR", cells, faults)
    if kinds == {bool}:
        return Column(name, "BOOLEAN", cells, faults)
    if kinds == {int} and all(value is None or -_BIGINT <= value < _BIGINT for value in cells):
        return Column(name, "BIGINT", cells, faults)
    if kinds <= {int, float}:
        return Column(name, "DOUBLE", [None if value is None else float(value) for value in cells], faults)
    if kinds == {date}:
        return Column(name, "DATE", cells, faults)
    if kinds <= {date, datetime}:
        return Column(name, "TIMESTAMP", [_as_utc(value) for value in cells], faults)
    if kinds == {time}:
        return Column(name, "TIME", cells, faults)
    if kinds == {timedelta}:
        return Column(name, "INTERVAL", cells, faults)
    if kinds & {list, dict}:
        return Column(name, "JSON", [None if value is None else _json(value) for value in cells], faults)
    return Column(name, "VARCHAR", [None if value is None else shown(value) for value in cells], faults)


def _from_texts(name: str, cells: Sequence[Any], *, from_text: bool, faults: int) -> Column:
    texts = [value.strip() for value in cells if value is not None]
    if from_text:
        if all(_INTEGER.fullmatch(text) for text in texts):
            return Column(name, "BIGINT", [None if value is None else int(value) for value in cells], faults)
        if all(_DECIMAL.fullmatch(text) for text in texts):
            return Column(
                name, "DOUBLE", [None if value is None else float(value) for value in cells], faults
            )
        if all(text.lower() in {"true", "false"} for text in texts):
            truths = [None if value is None else value.strip().lower() == "true" for value in cells]
            return Column(name, "BOOLEAN", truths, faults)
    if all(_DATE.fullmatch(text) for text in texts):
        dates = [None if value is None else _date(value.strip()) for value in cells]
        if dates.count(None) == cells.count(None):
            return Column(name, "DATE", dates, faults)
    if all(len(text) > 10 and text[0].isdigit() and ":" in text for text in texts):
        moments = [None if value is None else parse_time(value) for value in cells]
        present = [moment for moment in moments if moment is not None]
        if len(present) == len(texts) and len({moment.tzinfo is None for moment in present}) == 1:
            return Column(name, "TIMESTAMP", [_as_utc(moment) for moment in moments], faults)
    return Column(name, "VARCHAR", cells, faults)


def _moments(name: str, moments: Sequence[int | None]) -> Column:
    epoch = datetime(1970, 1, 1)
    values = [None if moment is None else epoch + timedelta(microseconds=moment) for moment in moments]
    return Column(name, "TIMESTAMP", values)


def _as_utc(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value if value is None else datetime(value.year, value.month, value.day)
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _flat(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested objects as columns: ``{"detail": {"bytes": 3}}`` is ``detail_bytes``."""
    flat: dict[str, Any] = {}
    for key, value in fields.items():
        name = f"{prefix}_{key}" if prefix else key
        if isinstance(value, Mapping) and value:
            flat.update(_flat(value, name))
        else:
            flat[name] = value
    return flat
