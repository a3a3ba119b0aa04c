"""CSV: every record is a block and a row, cited by its first column; its physical line is kept beside.

The dialect (``,`` ``;`` tab ``|``, spaces after the delimiter) is found by trial. Lines above the first
record of full width (a title, Excel's ``sep=;``) and lone cells below are text, not records.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from shared.documents.document import Block, Document, Part, Table
from shared.documents.encoding import decode, lines
from shared.documents.formats import columns, text
from shared.documents.locators import NOWHERE, Locator

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 500
_CARRIAGE_RETURN = "\ue00d"
"""Stands for a carriage return inside a line while the csv module reads: it would take it for a line end."""

_END = "\ue00e"
"""A last record of our own: if it does not come back, an open quote swallowed it."""

csv.field_size_limit(2**31 - 1)


class _Record(NamedTuple):
    cells: list[str]
    line: int
    text: str


class _Dialect(NamedTuple):
    delimiter: str
    spaced: bool


def parse(data: bytes) -> Document:
    """Read a csv file; every sequence of bytes is one."""
    decoded = decode(data)
    all_lines = lines(decoded.text)
    old_mac = len(all_lines) == 1 and "\r" in all_lines[0]
    if old_mac:  # records end at carriage returns, and all stand on what counts as one line
        all_lines = all_lines[0].split("\r")
    facts = text.facts(decoded)
    dialect = _dialect(all_lines[:_SAMPLE_LINES])
    records, closed = _records(all_lines, dialect)
    if old_mac:
        records = [record._replace(line=1) for record in records]
    if not closed:
        facts.setdefault("problems", []).append(
            "a quote is never closed: quotes were read as plain characters"
        )
    facts["delimiter"] = dialect.delimiter

    width = _width(record.cells for record in records)
    first = next((i for i, record in enumerate(records) if _filled(record) >= min(width, 2)), 0)
    body = [record for record in records[first:] if len(record.cells) > 1 or width < 2]
    has_header = bool(body) and columns.is_header(body[0].cells, [record.cells[0] for record in body[1:]])
    rows = body[1:] if has_header else body
    row_ids = {id(record) for record in rows}
    blocks = [_block(record, id(record) in row_ids) for record in records]
    facts["records"] = len(rows)
    if not body:
        return Document("csv", blocks, (), facts)

    full = min(max(len(record.cells) for record in body), columns.columns_for(len(rows)))
    header = body[0].cells if has_header else []
    table = Table(
        name="",
        columns=columns.names([*header[:full], *[""] * (full - len(header))]),
        values=columns.transpose([record.cells[:full] for record in rows], full),
        locators=tuple(Locator(record=_id(record)) for record in rows),
        lines=tuple(record.line for record in rows),
        header=body[0].line if has_header else None,
    )
    return Document("csv", blocks, (table,), facts)


def _filled(record: _Record) -> int:
    return sum(bool(cell.strip()) for cell in record.cells)


def _id(record: _Record) -> str | None:
    return record.cells[0].strip() or None


def _block(record: _Record, is_row: bool) -> Block:
    locator = Locator(record=_id(record)) if is_row else NOWHERE
    return Block(record.text, locator, Part.BODY, citable=locator != NOWHERE, line=record.line)


def _dialect(sample: Sequence[str]) -> _Dialect:
    """The delimiter under which most records have the same number of cells, and more than one."""
    if sample and sample[0].lower().startswith("sep=") and len(sample[0]) == 5:
        return _Dialect(sample[0][4], _spaced(sample, sample[0][4]))
    best, best_score = _Dialect(",", False), (0.0, 0)
    for delimiter in _DELIMITERS:
        dialect = _Dialect(delimiter, _spaced(sample, delimiter))
        records, _ = _records(sample, dialect)
        width = _width(record.cells for record in records)
        if width > 1:
            alike = sum(len(record.cells) == width for record in records) / len(records)
            if (alike, width) > best_score:
                best, best_score = dialect, (alike, width)
    return best


def _spaced(sample: Sequence[str], delimiter: str) -> bool:
    """Whether cells stand after a space, quoted ones too: ``a, "b, c"``."""
    if not any(f'{delimiter} "' in line for line in sample):
        return False
    delimiters = sum(line.count(delimiter) for line in sample)
    return sum(line.count(f"{delimiter} ") for line in sample) > 0.9 * delimiters


def _width(rows: Iterable[Sequence[str]]) -> int:
    """The commonest number of cells; of records with one cell only if there are no others."""
    counts = Counter(map(len, rows))
    wide = {width: count for width, count in counts.items() if width > 1 and count > 1} or {
        width: count for width, count in counts.items() if width > 1
    }
    if not wide or sum(wide.values()) * 4 < counts.total():
        return 1
    return max(wide, key=lambda width: (wide[width], width))


def _records(all_lines: Sequence[str], dialect: _Dialect) -> tuple[list[_Record], bool]:
    """The records that are not blank, and whether every quote was closed (else quotes are mere text)."""
    records = _read(all_lines, dialect, csv.QUOTE_MINIMAL)
    if records is not None:
        return records, True
    return _read(all_lines, dialect, csv.QUOTE_NONE) or [], False


def _read(all_lines: Sequence[str], dialect: _Dialect, quoting: Literal[0, 3]) -> list[_Record] | None:
    """The records that are not blank; None where a quote swallows the end of the file."""
    source = (line.replace("\r", _CARRIAGE_RETURN) + "\n" for line in [*all_lines, _END])
    reader = csv.reader(source, delimiter=dialect.delimiter, skipinitialspace=dialect.spaced, quoting=quoting)
    records: list[_Record] = []
    start = 1
    for cells in reader:
        if cells == [_END]:
            return records
        if any(cell.strip() for cell in cells):
            raw = "\n".join(all_lines[start - 1 : reader.line_num])
            records.append(_Record([cell.replace(_CARRIAGE_RETURN, "\r") for cell in cells], start, raw))
        start = reader.line_num + 1
    return None
