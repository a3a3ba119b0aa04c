"""Which zone a log's local times are in. A rotated archive is written in local time, and says so somewhere.

Looked for in this order: the event's own field, the file's first lines, its name, then the operator files.
Times that name their offset need none of this; times whose zone nobody names are taken as UTC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any

from shared.documents.operator_files import OperatorFiles
from shared.documents.timestamps import find_zone

UNKNOWN: tzinfo = UTC
"""What local times are taken for where nobody names a zone."""

_ZONE_FIELDS = frozenset({"tz", "timezone", "utcoffset", "offset", "zone", "tzoffset", "localtz"})
_IN_NAME = re.compile(
    r"(?:utc|gmt)[-_ ]?(plus|minus|p|m|[+-])[-_ ]?(\d{1,2})[-_:]?(\d{2})?(?!\d)", re.IGNORECASE
)
_OLD = re.compile(r"archiv|rotat|local|legacy|(?<![a-z])old(?![a-z])|\.\d+\.", re.IGNORECASE)
_KIND_OF_TIME = re.compile(r"\b(?!utc\b)(\w+)[ -]time\b", re.IGNORECASE)


def field_zone(event: Mapping[str, Any]) -> tzinfo | None:
    """The zone that an event names in a field of its own (``"tz": "+02:00"``)."""
    for key, value in event.items():
        if isinstance(value, str) and re.sub(r"[^a-z]", "", key.lower()) in _ZONE_FIELDS:
            return find_zone(value)
    return None


def file_zone(path: str, head: Sequence[str]) -> tzinfo | None:
    """The zone that a file's first lines name, where they are no events, or its own name does.

    For example ``# UTC+02:00``, ``{"header": {"tz": "Asia/Tokyo"}}``, ``audit-utc-plus-0530.jsonl``.
    """
    for line in head:
        if not line.startswith("{"):
            if zone := find_zone(line):
                return zone
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for value in record.values():
            if isinstance(value, Mapping) and (zone := field_zone(value)):
                return zone
    if found := _IN_NAME.search(path):
        sign = "-" if found[1].lower() in {"-", "m", "minus"} else "+"
        return find_zone(f"UTC{sign}{found[2]}{':' + found[3] if found[3] else ''}")
    return None


def operator_zone(path: str, operator: OperatorFiles) -> tzinfo | None:
    """The zone that the operator files give for a log.

    Either a statement about the file names a zone, or it says in which kind of time the file is ("local
    time", "station time") and another statement says what that is. For a file that is old by its name, any
    statement on rotated logs or on a kind of time will do.
    """
    about = operator.about(path)
    for statement in about:
        if zone := find_zone(statement):
            return zone
    kinds = {found.lower() for statement in about for found in _KIND_OF_TIME.findall(statement)}
    zoned = [(text, zone) for text in operator.statements if (zone := find_zone(text))]
    for statement, zone in zoned:
        if kinds & {found.lower() for found in _KIND_OF_TIME.findall(statement)}:
            return zone
    if not _OLD.search(path):
        return None
    for statement, zone in zoned:
        if _OLD.search(statement):
            return zone
    return next((zone for text, zone in zoned if _KIND_OF_TIME.search(text)), None)
