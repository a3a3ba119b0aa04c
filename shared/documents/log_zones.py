"""Which zone a log's local times are in. A rotated archive is written in local time, and says so somewhere.

Looked for in this order: the event's own field, the file's first lines, its name, then the operator files
(``/AGENTS.md`` and the text files that it names; anything else in a workspace is data and may lie). Times
that name their offset need none of this; times whose zone nobody names are taken as UTC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any

from shared.documents.paths import extension
from shared.documents.text import lines_of
from shared.documents.timestamps import find_zone

_ZONE_FIELDS = frozenset({"tz", "timezone", "utcoffset", "offset", "zone", "tzoffset", "localtz"})
_ARCHIVE = re.compile(r"archiv|rotat|local|legacy|\bold\b|\.\d+\.", re.IGNORECASE)
_STATEMENT = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+#|>]|\d+[.)])\s?)")
_NAME_ZONE = re.compile(
    r"(?:utc|gmt)[_ ]?([+-]|p|plus|m|minus)[_ ]?(\d{1,2})[-_:]?(\d{2})?(?!\d)", re.IGNORECASE
)
_OPERATOR = "/AGENTS.md"


def field_zone(event: Mapping[str, Any]) -> tzinfo | None:
    """The zone that an event names in a field of its own (``"tz": "+02:00"``)."""
    for key, value in event.items():
        if isinstance(value, str) and re.sub(r"[^a-z]", "", key.lower()) in _ZONE_FIELDS:
            return find_zone(value)
    return None


def header_zone(head: Sequence[str]) -> tzinfo | None:
    """The zone that a file's first lines name, where they are no events (``# times are UTC+02:00``)."""
    for line in head:
        if not line.startswith("{"):
            if zone := find_zone(line):
                return zone
            continue
        try:
            record = json.loads(line)
        except ValueError:
            continue
        for value in record.values():
            if isinstance(value, Mapping) and (zone := field_zone(value)):
                return zone
    return None


def name_zone(path: str) -> tzinfo | None:
    """The zone in a file's name: ``audit_UTC+2.jsonl``, ``archive-utc-plus-0530.jsonl``."""
    if found := _NAME_ZONE.search(path):
        sign = "-" if found[1].lower() in {"-", "m", "minus"} else "+"
        return find_zone(f"UTC{sign}{found[2]}{':' + found[3] if found[3] else ''}")
    return None


def operator_zone(path: str, texts: Iterable[str]) -> tzinfo | None:
    """The zone that an operator file gives for this log: the statement which names it most closely."""
    found: list[tuple[int, int, tzinfo]] = []
    statements = [part for text in texts for part in _STATEMENT.split(text)]
    for order, statement in enumerate(statements):
        zone = find_zone(statement)
        closeness = _closeness(path, statement)
        if zone is not None and closeness:
            found.append((-closeness, order, zone))
    return min(found, key=lambda entry: entry[:2])[2] if found else None


def operator_texts(paths: Iterable[str], load: Callable[[str], bytes]) -> list[str]:
    """``/AGENTS.md`` and the text files that it names, by path or by file name."""
    texts = sorted(path for path in paths if extension(path) in {"md", "txt"})
    if _OPERATOR not in texts:
        return []
    main = "\n".join(lines_of(load(_OPERATOR)))
    named = [path for path in texts if path != _OPERATOR and path.rpartition("/")[2] in main]
    return [main, *("\n".join(lines_of(load(path))) for path in named)]


def _closeness(path: str, statement: str) -> int:
    folder, _, name = path.rpartition("/")
    if path in statement or name in statement:
        return 4
    if not _ARCHIVE.search(path):
        return 0
    words = statement.lower()
    if folder and (folder + "/" in statement or folder in statement.split()):
        return 3
    if "archiv" in words or "rotat" in words:
        return 2
    return 1 if "local time" in words else 0


UNKNOWN: tzinfo = UTC
"""What local times are taken for where nobody names a zone."""
