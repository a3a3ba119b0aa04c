"""Checks sources before they are submitted: every citation names a place that exists.

A wrong locator is corrected where exactly one right one fits; else the source is dropped, with a note that
says why. Nothing is invented: a file that is cited without a locator stays cited without one, unless it has
but one place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from shared.documents.document import Document
from shared.documents.locators import TAKES, Locator
from shared.documents.paths import canonical
from shared.models import Source

MANY = 20
"""More sources than this get a warning: citing "just in case" is penalised (Harness Arena, "Submitting")."""


class Note(NamedTuple):
    """What happened to one source, and why."""

    source: Source
    why: str


class Checked(NamedTuple):
    """The sources to submit, and notes on those that were changed, dropped or too many."""

    sources: tuple[Source, ...]
    notes: tuple[Note, ...]


class _Wrong(Exception):
    """The source names no place that exists, and nothing says which one was meant."""


def check(sources: Iterable[Source], paths: Iterable[str], document: Callable[[str], Document]) -> Checked:
    """Check sources against a workspace.

    Args:
        sources: as a solver gave them.
        paths: the workspace's canonical paths.
        document: gives the parsed document of a path; called for cited files only.
    """
    known = frozenset(paths)
    kept: dict[Source, None] = {}
    notes: list[Note] = []
    for source in sources:
        try:
            path = _path(source.path, known)
            right = _place(source, path, document(path))
        except _Wrong as wrong:
            notes.append(Note(source, f"dropped: {wrong}"))
            continue
        if right in kept:
            notes.append(Note(source, "merged: cited already"))
        elif right != source:
            notes.append(Note(source, f"corrected to {json.dumps(right.wire(), ensure_ascii=False)}"))
        kept[right] = None
    if len(kept) > MANY:
        notes.append(Note(list(kept)[MANY], f"{len(kept)} sources: citing many just in case is penalised"))
    return Checked(tuple(kept), tuple(notes))


def _path(path: str, known: frozenset[str]) -> str:
    """The workspace's spelling: the same path, or the only one that differs in case or lacks its folders."""
    wanted = canonical(path)
    if wanted in known:
        return wanted
    alike = [name for name in known if name.casefold() == wanted.casefold()]
    if not alike and wanted.count("/") == 1:
        alike = [name for name in known if name.casefold().endswith(wanted.casefold())]
    if len(alike) != 1:
        raise _Wrong("the workspace has no such file")
    return alike[0]


def _place(source: Source, path: str, document: Document) -> Source:
    given = {name: value for name, value in source.wire().items() if name != "path"}
    takes = TAKES[document.format]
    if not takes:
        return Source(path=path)
    if document.unreadable is not None:
        if set(given) - set(takes):
            raise _Wrong(f"{document.format} is cited by {' + '.join(takes)}, and this file cannot be read")
        return source.model_copy(update={"path": path})
    places = _places(document)
    if not given:
        only = _only(places)
        return Source(path=path) if only is None else only.source(path)
    finder = _FINDERS.get(document.format)
    found = _only(dict.fromkeys(finder(source, document, places) if finder else _same(source, takes, places)))
    if found is None:
        asked = ", ".join(f"{name} {value}" for name, value in given.items())
        raise _Wrong(f"{path} has no {asked}")
    return found.source(path)


def _only(places: Iterable[Locator]) -> Locator | None:
    distinct = list(places)
    return distinct[0] if len(distinct) == 1 else None


def _places(document: Document) -> dict[Locator, None]:
    """Every place that a citation can name."""
    blocks = (block.locator for block in document.blocks if block.citable)
    rows = (locator for table in document.tables for locator in table.locators)
    return dict.fromkeys(place for place in (*blocks, *rows) if any(field is not None for field in place))


def _same(source: Source, takes: Sequence[str], places: Iterable[Locator]) -> list[Locator]:
    """pdf, docx, odt, md, txt: the one number that the format takes."""
    name = takes[0]
    wanted = getattr(source, name)
    if wanted is None:  # another kind of place: right only where there is but one
        return list(places)
    return [place for place in places if getattr(place, name) == wanted]


def _record(source: Source, document: Document, places: Iterable[Locator]) -> list[Locator]:
    """csv, json: by record; by line where a record starts there."""
    if source.record is not None:
        return _by_record(source.record, places)
    if source.line is None:
        return []
    return [
        table.locators[row]
        for table in document.tables
        for row, line in enumerate(table.lines)
        if line == source.line and table.locators[row].record
    ]


def _row(source: Source, _: Document, places: Iterable[Locator]) -> list[Locator]:
    """xlsx, ods: by sheet and row; by a row that only one sheet has; by record."""
    if source.row is None:
        return [] if source.record is None else _by_record(source.record, places)
    rows = [place for place in places if place.row == source.row]
    if source.sheet is None:
        return [Locator(sheet=place.sheet, row=place.row) for place in rows]
    wanted = source.sheet.strip().casefold()
    return [
        Locator(sheet=place.sheet, row=place.row)
        for place in rows
        if place.sheet is not None and place.sheet.strip().casefold() == wanted
    ]


def _line(source: Source, document: Document, places: Iterable[Locator]) -> list[Locator]:
    """jsonl: by line; by the id of a line's object."""
    if source.line is not None:
        return [place for place in places if place.line == source.line]
    if source.record is None:
        return []
    return [
        table.locators[row]
        for table in document.tables
        if table.values
        for ids in [table.values[table.columns.index("id") if "id" in table.columns else 0]]
        for row, value in enumerate(ids)
        if str(value).strip() == source.record.strip()
    ]


def _by_record(record: str, places: Iterable[Locator]) -> list[Locator]:
    """By the record's id; where none is spelled so, by the only one that differs in case or spaces."""
    wanted = record.strip()
    exact = [place for place in places if place.record == wanted]
    return exact or [
        place for place in places if place.record and place.record.strip().casefold() == wanted.casefold()
    ]


_Finder = Callable[[Source, Document, Iterable[Locator]], list[Locator]]
_FINDERS: dict[str, _Finder] = {
    "csv": _record,
    "json": _record,
    "xlsx": _row,
    "ods": _row,
    "jsonl": _line,
}
