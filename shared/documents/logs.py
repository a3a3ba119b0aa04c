"""Audit logs of a workspace: one event per line, from several files, in UTC, with file and line to cite.

Which files are logs, what their fields mean and which zone their local times are in is found by looking
(``log_fields``, ``log_zones``); all three differ from theme to theme.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import lru_cache
from typing import Any

from shared.documents import log_zones
from shared.documents.formats.json import loads
from shared.documents.log_fields import LogFields, find_fields
from shared.documents.operator_files import OperatorFiles, read_operator_files
from shared.documents.paths import extension
from shared.documents.text import lines_of
from shared.documents.timestamps import micros, parse_time, utc_text

FORMATS = frozenset({"jsonl", "ndjson", "log", "txt"})
KEYS = ("agent", "action", "target", "trace")

_SAMPLE = 200
_HEAD = 5
_HINTS = re.compile(r"(?<![a-z])(?:logs?|audit|events?|archive|trail|journal)(?![a-z])")
_ENDLESS = re.compile(r"NaN|Infinity|[eE]\+?\d{3}")
_COUNTER_HINTS = ("message", "mail", "inbox", "outbox", "chat", "slack", "thread", "channel", "post")


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event. ``moment`` is microseconds since the epoch, None where the event names no time.

    ``raw`` is the line as it stands, ``lowered`` the same without regard to case. ``keys`` holds, for agent,
    action, target and trace, the values as written (a target may be several); ``used`` names the fields that
    time and keys were taken from.
    """

    moment: int | None
    path: str
    line: int
    raw: str
    lowered: str
    keys: tuple[tuple[str, ...], ...]
    used: tuple[tuple[str, ...], ...]

    def shown(self) -> dict[str, Any]:
        """The event as ``query_logs`` returns it."""
        answer: dict[str, Any] = {
            "file": self.path,
            "line": self.line,
            "time": None if self.moment is None else utc_text(self.moment),
        }
        for key, values in zip(KEYS, self.keys, strict=True):
            answer[key] = list(values) if len(values) > 1 else (values[0] if values else None)
        answer["fields"] = self.fields()
        return answer

    def fields(self) -> dict[str, Any]:
        """What the event says beyond its time and keys."""
        fields = _record(self.raw)
        for path in self.used:
            _remove(fields, path)
        return fields


class Logbook:
    """The events of several log files, ordered by time, file and line; events without a time come last."""

    def __init__(self, events: Iterable[LogEvent]) -> None:
        self.events = sorted(
            events, key=lambda event: (event.moment is None, event.moment or 0, event.path, event.line)
        )
        self._moments = [event.moment for event in self.events if event.moment is not None]
        self._postings: list[dict[str, list[int]]] = [{} for _ in KEYS]
        for position, event in enumerate(self.events):
            for postings, values in zip(self._postings, event.keys, strict=True):
                for value in dict.fromkeys(value.casefold() for value in values):
                    postings.setdefault(value, []).append(position)

    def select(
        self,
        wanted: Mapping[str, str],
        *,
        text: str | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> list[LogEvent]:
        """Events that meet every condition.

        Args:
            wanted: exact values by ``KEYS``; case does not matter.
            text: a part of the line as it stands in the file; case does not matter.
            since, until: microseconds since the epoch, both inclusive.
        """
        first = 0 if since is None else bisect_left(self._moments, since)
        end = len(self._moments) if until is not None or since is not None else len(self.events)
        if until is not None:
            end = bisect_right(self._moments, until)
        positions: Sequence[int] = range(first, max(first, end))
        lists = [self._postings[KEYS.index(key)].get(value.casefold(), []) for key, value in wanted.items()]
        if lists:
            lists.sort(key=len)
            kept = (
                set(positions).intersection(*lists)
                if len(lists[0]) > 64
                else set(lists[0]).intersection(positions, *lists[1:])
            )
            positions = sorted(kept)
        if text:
            needle = text.casefold()
            positions = [position for position in positions if needle in self.events[position].lowered]
        return [self.events[position] for position in positions]


def open_logs(paths: Iterable[str], load: Callable[[str], bytes]) -> Logbook:
    """Find the logs among a workspace's files and read them; shared by equal contents in this process."""
    paths = sorted(paths)
    operator = read_operator_files(paths, load)
    files = []
    for path in paths:
        if extension(path) in FORMATS:
            data = load(path)
            fields = log_fields(path, data, operator)
            if fields is not None:
                files.append(_LogFile(path, data, fields, _zone(path, data, fields, operator)))
    return _logbook(tuple(files))


@dataclass(frozen=True)
class _LogFile:
    path: str
    data: bytes
    fields: LogFields
    zone: tzinfo


@lru_cache(maxsize=64)
def log_fields(path: str, data: bytes, operator: OperatorFiles) -> LogFields | None:
    """The meaning of a file's fields, None where the file is no log.

    A log tells the time on most of its lines, and who or what. Its path, what the operator files call it and
    the number of roles that its fields fill weigh against exports of messages, which look alike.
    """
    sample = _sample(data)
    if not sample:
        return None
    fields = find_fields(sample, operator.field)
    if fields is None or not {"agent", "action"} & fields.by_role.keys():
        return None
    timed = sum(fields.get(event, "time")[0] is not None for event in sample)
    if timed < 0.5 * len(sample):
        return None
    lowered = path.lower()
    score = sum(role in fields.by_role for role in KEYS)
    score += 2 * (
        bool(_HINTS.search(lowered)) or any(map(_HINTS.search, map(str.lower, operator.about(path))))
    )
    score -= 2 * any(hint in lowered for hint in _COUNTER_HINTS)
    return fields if score >= 3 else None


def _sample(data: bytes) -> list[dict[str, Any]]:
    """Objects from all over the file; empty where fewer than half of the looked-at lines are objects."""
    lines = [line for line in lines_of(data) if line.strip()]
    step = max(1, len(lines) // _SAMPLE)
    looked = lines[::step]
    events = [event for event in map(_object, looked) if event is not None]
    return events if len(events) * 2 >= len(looked) else []


def _object(line: str) -> dict[str, Any] | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        return _record(line)
    except ValueError:
        return None


def _record(line: str) -> dict[str, Any]:
    """A line that begins with a brace as an object. Raises ValueError where it is none."""
    record: dict[str, Any] = loads(line)
    return _finite(record) if _ENDLESS.search(line) else record


def _finite(value: Any) -> Any:
    """Python reads numbers that JSON cannot say (NaN, 1e999): they become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


def _zone(path: str, data: bytes, fields: LogFields, operator: OperatorFiles) -> tzinfo:
    """The zone of the times that name none."""
    moments = (parse_time(fields.get(event, "time")[1]) for event in _sample(data))
    if not any(moment is not None and moment.tzinfo is None for moment in moments):
        return log_zones.UNKNOWN
    own = log_zones.file_zone(path, lines_of(data)[:_HEAD])
    return own or log_zones.operator_zone(path, operator) or log_zones.UNKNOWN


@lru_cache(maxsize=8)
def _logbook(files: tuple[_LogFile, ...]) -> Logbook:
    return Logbook(event for file in files for event in _events(file))


@lru_cache(maxsize=48)
def _events(file: _LogFile) -> tuple[LogEvent, ...]:
    """A file's events; shared by the logbooks that have the file."""
    return tuple(_read_events(file))


def _read_events(file: _LogFile) -> Iterator[LogEvent]:
    fields = file.fields
    for number, line in enumerate(lines_of(file.data), start=1):
        record = _object(line)
        if record is None:
            continue
        used = []
        where, written = fields.get(record, "time")
        moment = parse_time(written)
        if where is not None and moment is not None:
            used.append(where)
        keys = []
        for key in KEYS:
            where, value = fields.get(record, key)
            keys.append(_texts(value))
            if where is not None:
                used.append(where)
        if moment is None and not any(keys):
            continue  # a header or a remark between events
        own = log_zones.field_zone(record) if moment is not None and moment.tzinfo is None else None
        stamp = None if moment is None else micros(moment, own or file.zone)
        yield LogEvent(stamp, file.path, number, line, line.casefold(), tuple(keys), tuple(used))


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(str(item) for item in value) if isinstance(value, list) else (str(value),)


def _remove(fields: dict[str, Any], path: tuple[str, ...]) -> None:
    holder: Any = fields
    for part in path[:-1]:
        holder = holder[part]
    del holder[path[-1]]
    if len(path) > 1 and not holder:
        _remove(fields, path[:-1])
