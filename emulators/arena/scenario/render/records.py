"""Registers: rows with an id, as csv or json."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Literal

RecordFormat = Literal["csv", "json"]
Row = Mapping[str, str | int | None]


def write_records(rows: Sequence[Row], columns: Mapping[str, str], form: RecordFormat) -> bytes:
    """The rows as a file.

    Args:
        rows: values by neutral column name; ``id`` names the record.
        columns: the names in the file, in order, the id's first. In json the id's key is ``id``.
    """
    if form == "csv":
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(columns.values())
        writer.writerows(["" if row[key] is None else row[key] for key in columns] for row in rows)
        return buffer.getvalue().encode()
    records = [{"id" if key == "id" else name: row[key] for key, name in columns.items()} for row in rows]
    body = ",\n".join("  " + json.dumps(record, ensure_ascii=False) for record in records)
    return f"[\n{body}\n]\n".encode()
