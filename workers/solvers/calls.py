"""What the log counts, by the operator's rules: which events are calls, which ended well, what a day is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property

from shared.models import Source
from workers.desk import Desk

MOST_EVENTS = 50_000

_NOUN = re.compile(r"\b(?:an?|the)\s+([a-z][a-z ]*?)\s+(?:is|one|are)\b", re.IGNORECASE)
_ZONE = re.compile(r"UTC\s*([+-])(\d{1,2}):?(\d\d)?")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?))?")


@dataclass(frozen=True)
class Event:
    """One event of the log."""

    time: datetime
    agent: str
    target: str
    trace: str
    status: str
    source: Source


@dataclass(frozen=True)
class Call:
    """What counts as one: all attempts of a trace, or a single event, as the rules have it."""

    agent: str
    events: tuple[Event, ...]
    done: bool

    @property
    def began(self) -> datetime:
        """When its first attempt was made."""
        return self.events[0].time


class CountingDesk(Desk):
    """A desk that can count, too."""

    @cached_property
    def log(self) -> Calls:
        """What the log counts."""
        return Calls(self)


class Calls:
    """The counted side of a desk's log."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @cached_property
    def terms(self) -> dict[str, str]:
        """What the operator calls an action → the action, from "a berthing is a deed `berth`"."""
        actions = {str(row[0]) for row in self._desk.workspace.sql("SELECT DISTINCT action FROM events").rows}
        found = {}
        for rule in self._desk.rules:
            parts = re.split(r"`([^`]+)`", rule.text)
            for before, quoted in zip(parts[::2], parts[1::2], strict=False):
                if quoted in actions and (noun := _NOUN.search(before)):
                    found[noun[1].lower()] = quoted
        return found

    def action(self, instruction: str) -> str | None:
        """The action that an instruction speaks of: the longest of the operator's terms in it."""
        text = instruction.lower()
        named = [term for term in self.terms if re.search(rf"\b{re.escape(term)}", text)]
        return self.terms[max(named, key=len)] if named else None

    @cached_property
    def _done(self) -> tuple[str, str] | None:
        """The log's column that says how an event ended, and the value of a good end."""
        sample = self._desk.workspace.sql("SELECT * FROM events LIMIT 400")
        for rule in self._desk.rules:
            if rule.says(r"\b(?:count|number)"):
                for quoted in rule.quoted:
                    for place, column in enumerate(sample.columns):
                        if any(row[place] == quoted for row in sample.rows):
                            return column, quoted
        return None

    def events(self, action: str) -> list[Event]:
        """Every event of an action, oldest first; what rotation copied is there once."""
        column = f'"{self._done[0]}"' if self._done else "''"
        literal = action.replace("'", "''")
        query = (
            f"SELECT time, agent, target, trace, {column} FROM events "  # noqa: S608 - quoted; only this
            f"WHERE action = '{literal}' ORDER BY time"  # workspace's own tables can be reached
        )
        result = self._desk.workspace.sql(query, limit=MOST_EVENTS)
        found: dict[tuple[object, ...], Event] = {}
        for row, sources in zip(result.rows, result.sources, strict=False):
            if sources and row[:4] not in found:
                time = datetime.fromisoformat(str(row[0])).replace(tzinfo=UTC)
                agent, target, trace, status = (str(value) for value in row[1:])
                found[row[:4]] = Event(time, agent, target, trace, status, sources[0])
        return list(found.values())

    def done(self, event: Event) -> bool:
        """True where the event ended well, by the operator's rule; all did where there is no such rule."""
        return self._done is None or event.status == self._done[1]

    def calls(self, events: Iterable[Event]) -> list[Call]:
        """Events as calls, oldest first."""
        one_by_one = self._desk.rule(r"\bby itself\b|each (?:attempt|try) counts") is not None
        groups: dict[object, list[Event]] = {}
        for event in events:
            key = (event.trace, event.agent) if event.trace and not one_by_one else event
            groups.setdefault(key, []).append(event)
        made = [Call(group[0].agent, tuple(group), self.done(group[-1])) for group in groups.values()]
        return sorted(made, key=lambda call: call.began)

    def within(self, calls: Iterable[Call], instruction: str) -> list[Call]:
        """The calls that began in the time that an instruction names; all where it names none."""
        moments = _MOMENT.findall(instruction)
        if not moments:
            return list(calls)
        day, clock = moments[0]
        last_day, last_clock = moments[-1]
        if clock and last_clock:
            start, end = _utc(day, clock), _utc(last_day, last_clock)
        else:
            start = datetime.fromisoformat(day).replace(tzinfo=self._day_zone)
            end = datetime.fromisoformat(last_day).replace(tzinfo=self._day_zone) + timedelta(days=1)
        return [call for call in calls if start <= call.began < end]

    @cached_property
    def _day_zone(self) -> timezone:
        rule = self._desk.rule(r"\bdays?\b (?:is|runs|are)\b")
        if rule is None or rule.says(r"\bUTC\b"):
            return UTC
        zones = [match for rule in self._desk.rules if (match := _ZONE.search(rule.text))]
        if not zones:
            return UTC
        sign, hours, minutes = zones[0].groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(offset if sign == "+" else -offset)

    def rate(self, calls: list[Call]) -> float | int | None:
        """Failed calls over all, in percent, rounded as the rules say; None where there are none."""
        if not calls:
            return None
        percent = 100 * sum(not call.done for call in calls) / len(calls)
        if self._desk.rule(r"percent", r"fraction (?:is )?dropped|rounded down"):
            return math.floor(percent + 1e-9)
        return math.floor(percent * 10 + 0.5 + 1e-9) / 10


def _utc(day: str, clock: str) -> datetime:
    return datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC)
