"""Documents as bytes, for the cache and for the way out of a parsing process.

JSON and zlib, by columns; never pickle, since what comes out of a cache must not be able to run code.
``load`` reads only the head: blocks and tables are decoded when they are first looked at, so that a
workspace opens at once and pays for what it uses.

Layout: ``SCRIM1`` · crc32 of the rest (4 bytes) · length of the head (4) · head · blocks · tables. Head,
blocks and tables are JSON, compressed each on its own.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import repeat
from typing import Any, TypeVar, overload

from shared.documents.document import JSON, Block, Detail, Document, Fault, Part, Table, Value
from shared.documents.locators import NOWHERE, Locator

_MAGIC = b"SCRIM1"
_FRAME = struct.Struct("<II")
_PARTS = list(Part)

T = TypeVar("T")


def dump(document: Document) -> bytes:
    """The document as bytes."""
    blocks, tables = _pack(_blocks(document.blocks)), _pack([_table(table) for table in document.tables])
    head = _pack(
        {
            "format": document.format,
            "facts": dict(document.facts),
            "unreadable": document.unreadable,
            "blocks": [len(document.blocks), len(blocks)],
            "tables": len(document.tables),
        }
    )
    rest = head + blocks + tables
    return _MAGIC + _FRAME.pack(zlib.crc32(rest), len(head)) + rest


def load(data: bytes) -> Document:
    """The document that ``dump`` wrote.

    Raises:
        ValueError: these bytes are damaged, or of another version of the layout.
    """
    start = len(_MAGIC) + _FRAME.size
    if not data.startswith(_MAGIC) or len(data) < start:
        raise ValueError("not a stored document")
    checksum, head_length = _FRAME.unpack_from(data, len(_MAGIC))
    if zlib.crc32(memoryview(data)[start:]) != checksum:
        raise ValueError("a stored document is damaged")
    head = _unpack(data[start : start + head_length])
    blocks_start = start + head_length
    count, blocks_length = head["blocks"]
    blocks, tables = data[blocks_start : blocks_start + blocks_length], data[blocks_start + blocks_length :]
    return Document(
        format=head["format"],
        blocks=Later(count, lambda: _read_blocks(_unpack(blocks))),
        tables=Later(head["tables"], lambda: [_read_table(table) for table in _unpack(tables)]),
        facts=head["facts"],
        unreadable=head["unreadable"],
    )


class Later(Sequence[T]):
    """A sequence whose items are made when they are first looked at. Safe to share between threads."""

    def __init__(self, count: int, make: Callable[[], Sequence[T]]) -> None:
        self._count = count
        self._make = make
        self._items: Sequence[T] | None = None

    def _made(self) -> Sequence[T]:
        if self._items is None:
            self._items = self._make()
        return self._items

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._made()[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self._made())


def _pack(value: JSON) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)


def _unpack(data: bytes) -> JSON:
    return json.loads(zlib.decompress(data))


def _column(values: Sequence[Any]) -> JSON:
    """Equal values once, as an object; others as a list."""
    if values and all(value == values[0] for value in values):
        return {"all": values[0]}
    return list(values)


def _read_column(stored: JSON, count: int) -> Iterable[Any]:
    return repeat(stored["all"], count) if isinstance(stored, dict) else stored


def _locators(locators: Sequence[Locator]) -> JSON:
    by_field = zip(Locator._fields, zip(*locators, strict=True), strict=True) if locators else ()
    return {name: _column(values) for name, values in by_field if any(v is not None for v in values)}


def _read_locators(stored: Mapping[str, JSON], count: int) -> list[Locator]:
    fields = (
        _read_column(stored[name], count) if name in stored else repeat(None) for name in Locator._fields
    )
    return list(map(Locator._make, zip(*fields, strict=False))) if stored else [NOWHERE] * count


def _blocks(blocks: Sequence[Block]) -> JSON:
    return {
        "texts": [block.text for block in blocks],
        "locators": _locators([block.locator for block in blocks]),
        "parts": _column([_PARTS.index(block.part) for block in blocks]),
        "citable": _column([block.citable for block in blocks]),
        "lines": _column([block.line for block in blocks]),
    }


def _read_blocks(stored: JSON) -> list[Block]:
    count = len(stored["texts"])
    return list(
        map(
            Block,
            stored["texts"],
            _read_locators(stored["locators"], count),
            map(_PARTS.__getitem__, _read_column(stored["parts"], count)),
            _read_column(stored["citable"], count),
            _read_column(stored["lines"], count),
        )
    )


def _table(table: Table) -> JSON:
    return {
        "name": table.name,
        "columns": table.columns,
        "values": [_values(column) for column in table.values],
        "locators": _locators(table.locators),
        "count": len(table),
        "lines": list(table.lines),
        "header": table.header,
        "sheet": table.sheet,
        "hidden": table.hidden,
        "hidden_rows": sorted(table.hidden_rows),
        "details": [[*at, *detail] for at, detail in table.details.items()],
    }


def _read_table(stored: JSON) -> Table:
    return Table(
        name=stored["name"],
        columns=tuple(stored["columns"]),
        values=tuple(_read_values(column) for column in stored["values"]),
        locators=_read_locators(stored["locators"], stored["count"]),
        lines=stored["lines"],
        header=stored["header"],
        sheet=stored["sheet"],
        hidden=stored["hidden"],
        hidden_rows=frozenset(stored["hidden_rows"]),
        details={(row, column): Detail(*detail) for row, column, *detail in stored["details"]},
    )


_PLAIN_TYPES = {type(None), bool, int, float, str}


def _values(column: Sequence[Value]) -> JSON:
    """A column as a list; as ``{"typed": …}`` where some of its values are none that JSON has."""
    if {type(value) for value in column} <= _PLAIN_TYPES:
        return list(column)
    return {"typed": [_value(value) for value in column]}


def _read_values(stored: JSON) -> Sequence[Value]:
    if isinstance(stored, dict):
        return [_read_value(value) for value in stored["typed"]]
    return stored  # type: ignore[no-any-return]


def _value(value: Value) -> JSON:
    """A value as JSON; what JSON has no word for as an object of one member, named by its type."""
    match value:
        case datetime():
            return {"datetime": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case time():
            return {"time": value.isoformat()}
        case timedelta():
            return {"duration": [value.days, value.seconds, value.microseconds]}
        case Fault():
            return {"fault": value.text}
        case list() | dict():
            return {"json": value}
        case _:
            return value


def _read_value(stored: JSON) -> Value:
    if not isinstance(stored, dict):
        return stored
    ((kind, value),) = stored.items()
    return _READERS[kind](value)


_READERS: dict[str, Callable[[Any], Value]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "duration": lambda parts: timedelta(*parts),
    "fault": Fault,
    "json": lambda value: value,
}
