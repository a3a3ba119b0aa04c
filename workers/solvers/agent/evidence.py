"""Where a step's result came from: what a plan cites is collected here, never named by the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from shared.documents.tables import SqlResult
from shared.models import Source

_PLACES = ("path", "line", "record", "sheet", "row")


def of_rows(result: SqlResult, *, ends: bool) -> Iterator[Source]:
    """Where the rows came from: as their place columns say, else as the query was followed."""
    numbers = range(len(result.rows))
    chosen = sorted({numbers[0], numbers[-1]}) if ends and numbers else numbers
    suffixes = [s for s in ("", "_2", "_3") if f"_path{s}" in result.columns]
    for number in chosen:
        row = dict(zip(result.columns, result.rows[number], strict=True))
        for suffix in suffixes:
            place = {key: row.get(f"_{key}{suffix}") for key in _PLACES}
            if place["path"] is not None:
                yield _source(place)
        if not suffixes and result.sources:
            yield from result.sources[number]


def _source(place: Mapping[str, Any]) -> Source:
    record = place["record"]
    return Source(
        path=str(place["path"]),
        line=place["line"],
        record=None if record is None else str(record),
        sheet=place["sheet"],
        row=place["row"],
    )


def of_result(result: JsonValue) -> Iterator[Source]:
    """Every place that a tool's result names: a file, and a line or record in it."""
    if isinstance(result, dict):
        path = result.get("file", result.get("path"))
        line, record = result.get("line"), result.get("record")
        if isinstance(path, str) and isinstance(line, int):
            yield Source(path=path, line=line)
        elif isinstance(path, str) and isinstance(record, str):
            yield Source(path=path, record=record)
        for value in result.values():
            yield from of_result(value)
    elif isinstance(result, list):
        for value in result:
            yield from of_result(value)
