"""JSON: every record is a block and a row, cited by its id, whatever the shape around the records.

Records are the objects in a list, wherever the list stands, and the values of an object that is keyed by
ids. A record's id is its ``id`` field, else its key, else its first field where that tells the records of
the list apart (the "first column" of Harness Arena Task API v1, "Submitting"). Records within records are
rows of a table of their own, named by the path of keys, whose column ``parent`` holds the id of the outer
record; those without an id of their own are cited by the outer one.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from shared.documents.document import JSON, Block, Document, Table
from shared.documents.encoding import decode
from shared.documents.formats import text
from shared.documents.formats.columns import columns_for, names
from shared.documents.locators import NOWHERE, Locator

MAX_DEPTH = 6
"""What is nested deeper stays a value of the record or object around it."""
MAX_TABLES = 200
MAX_LOOSE = 10_000
"""Elements of a list of mere values that become rows; a longer one is only text."""

_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_raw_decode = json.JSONDecoder().raw_decode


class _Item(NamedTuple):
    """A value, its key in an object ("" in a list), where its text starts, and the record around it."""

    key: str
    value: JSON
    start: int
    parent: str | None


class _Row(NamedTuple):
    cells: Mapping[str, JSON]
    locator: Locator
    line: int


def loads(source: str) -> JSON:
    """Decode JSON; as ``json.loads``, but every failure is a ValueError and lone surrogates are replaced.

    Raises:
        ValueError: not JSON, too deeply nested, or a number of absurd length.
    """
    try:
        value = json.loads(source)
        return _scrub(value) if _SURROGATE.search(source) else value
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse(data: bytes) -> Document:
    """Read a JSON file. What is not valid JSON is kept as lines of text, which have no locator."""
    decoded = decode(data)
    facts = text.facts(decoded)
    try:
        value = loads(decoded.text)
        reader = _Reader(decoded.text)
        reader.visit(_Item("", value, _skip_space(decoded.text, 0), None), "", 0)
    except (ValueError, RecursionError) as error:
        facts.setdefault("problems", []).append(f"not valid JSON: {error}")
        lines = text.parse(data).blocks
        blocks = [Block(b.text, citable=False, line=b.locator.line) for b in lines]
        return Document("json", blocks, (), facts)
    tables = [_table(path, rows) for path, rows in list(reader.rows.items())[:MAX_TABLES]]
    if len(reader.rows) > MAX_TABLES:
        facts.setdefault("problems", []).append(f"{len(reader.rows)} lists: {MAX_TABLES} became tables")
    return Document("json", sorted(reader.blocks, key=lambda block: block.line or 0), tables, facts)


class _Reader:
    """Walks a decoded value beside its text, from which it takes the lines that records start on."""

    def __init__(self, source: str) -> None:
        self.blocks: list[Block] = []
        self.rows: dict[str, list[_Row]] = {}
        self._source = source
        self._newlines = [match.start() for match in re.finditer("\n", source)]

    def visit(self, item: _Item, path: str, depth: int, *, silent: bool = False) -> None:
        """Turn a value into blocks and rows.

        Args:
            path: the keys that lead to the value, joined by dots.
            depth: how many of them.
            silent: make rows only; the text is in the block of the record around.
        """
        value = item.value
        if depth < MAX_DEPTH and _is_list_of_records(value):
            self._records(path, [i for i in self._items(item) if isinstance(i.value, dict)], depth, silent)
        elif depth < MAX_DEPTH and isinstance(value, dict) and _is_keyed(value):
            self._records(path, list(self._items(item)), depth, silent)
        elif depth < MAX_DEPTH and isinstance(value, dict) and _is_grouped(value):
            groups = [self._items(group._replace(parent=group.key)) for group in self._items(item)]
            records = [i for group in groups for i in group if isinstance(i.value, dict)]
            self._records(path, records, depth, silent)
        elif depth < MAX_DEPTH and isinstance(value, dict):
            self._object(path, item, depth, silent)
        else:
            self._loose(path, item, silent)

    def _records(self, path: str, items: Sequence[_Item], depth: int, silent: bool) -> None:
        """Records that stand beside each other, and those within them."""
        id_field = _id_field(items)
        for item in items:
            fields = item.value if isinstance(item.value, dict) else {"value": item.value}
            own = None if id_field is None else _scalar(fields.get(id_field))
            locator = Locator(record=own or item.key or item.parent)
            line = self._line_at(item.start)
            extra = {} if item.parent is None else {"parent": item.parent}
            if item.key and id_field is None:
                extra["id"] = item.key
            self.rows.setdefault(path, []).append(_Row({**extra, **fields}, locator, line))
            inner = (
                [i for i in self._items(item) if _holds_records(i.value)] if _holds_records(fields) else []
            )
            if not silent:
                apart = {i.key for i in inner if _holds_ids(i.value)}
                kept = {key: value for key, value in fields.items() if key not in apart}
                self._block({item.key: kept} if item.key else kept, locator, line)
            for i in inner:
                within = silent or not _holds_ids(i.value)
                self.visit(i._replace(parent=locator.record), _join(path, i.key), depth + 1, silent=within)

    def _object(self, path: str, item: _Item, depth: int, silent: bool) -> None:
        """An object that is one of a kind: its members one by one, and a row where it has an id."""
        own = _scalar(item.value.get("id"))
        record = own or item.parent
        if own is not None:
            row = _Row(item.value, Locator(record=record), self._line_at(item.start))
            self.rows.setdefault(path, []).append(row)
        for member in self._items(item._replace(parent=record)):
            if isinstance(member.value, dict) or _holds_records(member.value):
                self.visit(member, _join(path, member.key), depth + 1, silent=silent)
            else:
                self._loose(_join(path, member.key), member, silent)

    def _loose(self, path: str, item: _Item, silent: bool) -> None:
        """A value that is no record: text, and a table where it is a list."""
        locator = Locator(record=item.parent)
        line = self._line_at(item.start)
        if not silent:
            self._block({path: item.value} if path else item.value, locator, line)
        if isinstance(item.value, list) and len(item.value) <= MAX_LOOSE:
            rows = (_Row({"value": element}, locator, line) for element in item.value)
            self.rows.setdefault(path, []).extend(rows)

    def _block(self, value: JSON, locator: Locator, line: int) -> None:
        words = json.dumps(value, ensure_ascii=False)
        self.blocks.append(Block(words, locator, citable=locator != NOWHERE, line=line))

    def _items(self, item: _Item) -> Iterator[_Item]:
        """The elements of a list or members of an object; of equal keys the last one counts, as in Python."""
        source, at = self._source, _skip_space(self._source, item.start + 1)
        starts: dict[str, int] = {}
        while source[at] not in "]}":
            key = str(len(starts))
            if isinstance(item.value, dict):
                key, at = _raw_decode(source, at)
                at = _skip_space(source, _skip_space(source, at) + 1)
            starts[key] = at
            at = _skip_space(source, _raw_decode(source, at)[1])
            if source[at] == ",":
                at = _skip_space(source, at + 1)
        is_object = isinstance(item.value, dict)
        members = item.value.items() if is_object else [("", element) for element in item.value]
        for (key, value), start in zip(members, starts.values(), strict=True):
            yield _Item(key, value, start, item.parent)

    def _line_at(self, position: int) -> int:
        return bisect_left(self._newlines, position) + 1


def _table(path: str, rows: Sequence[_Row]) -> Table:
    keys = list(dict.fromkeys(key for row in rows for key in row.cells))[: columns_for(len(rows))]
    return Table(
        name=path,
        columns=names(keys),
        values=tuple([row.cells.get(key) for row in rows] for key in keys),
        locators=[row.locator for row in rows],
        lines=[row.line for row in rows],
    )


def _is_list_of_records(value: JSON) -> bool:
    return isinstance(value, list) and any(isinstance(element, dict) for element in value)


def _is_keyed(value: Mapping[str, JSON]) -> bool:
    """Whether an object's keys are ids: its values are objects of one kind, or every key has a digit."""
    with_digits = all(any(c.isdigit() for c in key) for key in value)
    if not all(isinstance(member, dict) and member for member in value.values()):
        return with_digits and len(value) > 1 and not any(map(_holds_records, value.values()))
    if len(value) == 1:
        return with_digits or [member.get("id") for member in value.values()] == list(value)
    fields = Counter(field for member in value.values() for field in member)
    shared = sum(count for count in fields.values() if 2 * count > len(value))
    return 2 * shared >= fields.total() > 0


def _is_grouped(value: Mapping[str, JSON]) -> bool:
    """Whether an object holds lists of records under keys that are ids."""
    with_digits = all(any(c.isdigit() for c in key) for key in value)
    return len(value) > 1 and with_digits and all(map(_is_list_of_records, value.values()))


def _holds_records(value: JSON, depth: int = 0) -> bool:
    """Whether there is a list of objects in a value."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return any(_holds_records(member, depth + 1) for member in value.values())
    return _is_list_of_records(value)


def _holds_ids(value: JSON, depth: int = 0) -> bool:
    """Whether records within a value have ids of their own, so that they are cited apart from it."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return any(_holds_ids(member, depth + 1) for member in value.values())
    if not _is_list_of_records(value):
        return False
    items = [_Item("", element, 0, "") for element in value if isinstance(element, dict)]
    return _id_field(items) is not None


def _id_field(items: Sequence[_Item]) -> str | None:
    """The field that holds the records' ids, None where their keys are (or nothing is).

    ``id`` itself; else a first field that tells the records apart, which within other records must
    also be named like one (``event_id``), since most lists there are no more than a value's details.
    """
    records = [item.value for item in items if isinstance(item.value, dict)]
    for name in ("id", "ID", "Id"):
        if any(_scalar(record.get(name)) for record in records):
            return name
    first: str | None = next(iter(records[0]), None) if records else None
    if first is None or items[0].key:
        return None
    ids = [_scalar(record.get(first)) for record in records]
    named = first.lower().endswith("id")
    if None in ids or len(set(ids)) < len(ids) or (items[0].parent is not None and not named):
        return None
    return first


def _scalar(value: JSON) -> str | None:
    """A string or number as an id; None for what cannot be one."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _skip_space(source: str, at: int) -> int:
    return _SPACE.match(source, at).end()  # type: ignore[union-attr]


def _scrub(value: JSON) -> JSON:
    """The value with lone surrogates replaced: no encoder takes them."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_scrub(item) for item in value]
    if isinstance(value, dict):
        return {_scrub(key): _scrub(item) for key, item in value.items()}
    return value
