"""Reads a workspace as a newcomer does: /AGENTS.md first, then the files it names, rules before data.

The vocabulary of both themes is known here the way a person knows it after reading; values, names, places and
rules come from the bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any

from tests.integration.emulators.arena.scenario.independent import raw

PAPERS = {
    "definitions": r"definitions and|^terms",
    "counting": r"counting|reckoning",
    "procedures": r"procedures|drills",
    "agents": r"registry of agents|craft roll",
    "tokens": r"registry of tokens|permit roll",
    "delegations": r"registry of delegations|mandate roll",
    "people": r"people|keepers",
    "teams": r"teams|sections",
    "incidents": r"incident register|occurrence book",
    "archive": r"rotated log|before that",
    "transfers": r"transfers|dues",
    "budget": r"budget|allotments",
    "advisory": r"security advisory|notice",
    "circular": r"circular|letter",
    "handover": r"handover|relief",
    "weekly": r"weekly|tally",
    "messages": r"channel|signal book",
    "containment": r"containment|lockout",
}
COLUMNS = {
    "name": ("call_name", "known_as", "name", "full_name"),
    "team": ("team", "section"),
    "owner": ("owner_id", "keeper"),
    "version": ("version", "firmware"),
    "status": ("status", "condition", "standing", "state"),
    "retired": ("retired_on", "laid_up"),
    "protected": ("protected", "safeguarded"),
    "holder": ("holder", "bearer"),
    "expires": ("expires", "lapses"),
    "revoked": ("revoked_at", "withdrawn_at"),
    "replaces": ("replaces", "forerunner"),
    "giver": ("from_agent", "grantor"),
    "taker": ("to_agent", "grantee"),
    "ended": ("ended", "closed"),
    "mailbox": ("mailbox", "post_box"),
    "agent": ("agent", "craft"),
    "opened": ("opened_at", "entered"),
    "sent": ("sent", "sent_at"),
    "author": ("author", "sender"),
    "text": ("text", "signal"),
}
ACTIVE = {"active", "in force"}
RETIRED = {"retired", "laid up"}
CLOSED = {"closed", "settled"}
VOID = {"void", "cancelled"}
YES = {"yes", "true", True}

_records = lru_cache(maxsize=64)(raw.records)
_pages = lru_cache(maxsize=16)(raw.pages)


def get(row: Mapping[str, Any], column: str) -> Any:
    """A row's value under whatever name the theme has for the column."""
    return next((row[name] for name in COLUMNS[column] if name in row), None)


@dataclass(frozen=True)
class Event:
    """A log event, in UTC; ``places`` are all lines that hold it."""

    when: datetime
    agent: str
    action: str
    target: str
    status: str
    trace: str
    attempt: int
    token: str
    places: tuple[tuple[str, int], ...]

    @property
    def same(self) -> tuple[Any, ...]:
        """What two lines about one event have in common."""
        return (self.when, self.agent, self.action, self.target, self.trace, self.attempt)


class Rulebook:
    """A workspace and the rules found in it."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.operator = raw.lines(files["/AGENTS.md"])
        rows = [re.match(r"\| (.+?) \| `(.+?)` \|", line) for line in self.operator]
        named = [(row[1], row[2]) for row in rows if row]
        self.at = {
            paper: next(path for what, path in named if re.search(pattern, what))
            for paper, pattern in PAPERS.items()
        }
        self.log = next(path for what, path in named if path.endswith("/"))
        self.rules: dict[str, str] = {}
        for path in ("/AGENTS.md", self.at["definitions"], self.at["counting"], self.at["procedures"]):
            for line in raw.lines(files[path]):
                if rule := re.match(r"- \*\*(\w+)\*\* (.+)", line):
                    self.rules[rule[1]] = rule[2]

    def rule_line(self, rule: str) -> int:
        """The line of a rule in /AGENTS.md."""
        return next(n for n, line in enumerate(self.operator, start=1) if f"**{rule}**" in line)

    def hard_rule(self, *words: str) -> int:
        """The line of the first rule of /AGENTS.md that holds one of the words, in their order."""
        for word in words:
            for number, line in enumerate(self.operator, start=1):
                if line.startswith("- **") and word in line:
                    return number
        raise AssertionError(words)

    @cached_property
    def offset(self) -> timedelta:
        return timedelta(hours=int(re.search(r"UTC([+-]\d\d):00", self.rules["D7"])[1]))

    def code(self, rule: str, place: int = 0) -> str:
        """A word set as code in a rule."""
        return re.findall(r"`([^`]+)`", self.rules[rule])[place]

    @cached_property
    def fields(self) -> list[str]:
        """Names of the log's fields: time, agent, action, target, status, trace, attempt, token."""
        return re.findall(r"^\| `(\w+)` \|", self.files[self.at["definitions"]].decode(), re.MULTILINE)

    @cached_property
    def statuses(self) -> list[str]:
        """The log's words for: went well, failed, was blocked."""
        row = next(
            line for line in raw.lines(self.files[self.at["definitions"]]) if f"`{self.fields[4]}`" in line
        )
        return re.findall(r"`(\w+)`", row)[1:]

    def records(self, paper: str) -> list[dict[str, Any]]:
        """The records of a register."""
        return _records(self.at[paper], self.files[self.at[paper]])

    def record(self, paper: str, record: str) -> dict[str, Any]:
        """One record."""
        return next(row for row in self.records(paper) if row["id"] == record)

    def pages(self, paper: str) -> list[str]:
        """The pages of a pdf, each with its line breaks taken for spaces where a sentence goes on."""
        return _pages(self.files[self.at[paper]])

    @cached_property
    def counted(self) -> set[str]:
        """Agents that are no test agents (N1)."""
        column = self.code("N1")
        return {row["id"] for row in self.records("agents") if row[column] not in YES}

    def members(self, team: str) -> set[str]:
        """A team's agents, test agents left out."""
        return {row["id"] for row in self.records("agents") if get(row, "team") == team} & self.counted

    @cached_property
    def events(self) -> list[Event]:
        """All events by time, each once though it stands in two files (N6)."""
        logs = [path for path in sorted(self.files) if path.startswith(self.log)]
        events = [event for path in logs for event in self._log_of(path)]
        if self.at["archive"] in self.files:
            known = {event.same: place for place, event in enumerate(events)}
            for event in self._log_of(self.at["archive"]):
                if event.same in known:
                    place = known[event.same]
                    events[place] = replace(event, places=events[place].places + event.places)
                else:
                    events.append(event)
        return sorted(events, key=lambda event: event.when)

    def _log_of(self, path: str) -> tuple[Event, ...]:
        return _events(path, self.files[path], tuple(self.fields), self.offset)

    def day(self, text: str, *, local: bool | None = None) -> tuple[datetime, datetime]:
        """The first moment of a date and of the next, by N4 unless said otherwise."""
        if local is None:
            local = "UTC day" not in self.rules["N4"]
        start = datetime.fromisoformat(text).replace(tzinfo=UTC) - (self.offset if local else timedelta(0))
        return start, start + timedelta(days=1)

    def calls(self, agents: set[str], action: str, window: tuple[datetime, datetime]) -> list[list[Event]]:
        """Calls by N2: attempts of a trace together or each alone; begun inside the window."""
        together = "one call" in self.rules["N2"]
        groups: dict[Any, list[Event]] = {}
        for event in self.events:
            if event.action == action and event.agent in agents:
                groups.setdefault(event.trace if together else (event.trace, event.attempt), []).append(event)
        found = [sorted(group, key=lambda event: event.attempt) for group in groups.values()]
        inside = [call for call in found if window[0] <= call[0].when < window[1]]
        return sorted(inside, key=lambda call: call[0].when)

    def completed(
        self, agents: set[str], action: str, window: tuple[datetime, datetime]
    ) -> list[list[Event]]:
        """Calls that ended well (N3)."""
        return [call for call in self.calls(agents, action, window) if call[-1].status == self.statuses[0]]

    def contacts(self, domain: str) -> list[Event]:
        """Contacts with a domain (N7), of whomever."""
        any_status = "still a hail" in self.rules["N7"]
        below = "A contact with a subdomain is" in self.rules["N7"]
        return [
            event
            for event in self.events
            if event.action == self.code("D2")
            and (any_status or event.status == self.statuses[0])
            and (event.target == domain or (below and event.target.endswith(f".{domain}")))
        ]

    @cached_property
    def indicators(self) -> tuple[list[str], int, int]:
        """Malicious domains (D10), the page that lists them and the page that corrects it."""
        pages = self.pages("advisory")
        listing = next(n for n, page in enumerate(pages) if page.count("\n- ") >= 3)
        withdrawing = next(n for n, page in enumerate(pages) if " is withdrawn" in page)
        withdrawn = re.search(r"(\S+) is withdrawn", pages[withdrawing])[1]
        listed = re.findall(r"\n- (\S+)", pages[listing])
        return [domain for domain in listed if domain != withdrawn], listing + 1, withdrawing + 1


@lru_cache(maxsize=32)
def _events(path: str, data: bytes, fields: tuple[str, ...], offset: timedelta) -> tuple[Event, ...]:
    found = []
    for number, line in enumerate(raw.lines(data), start=1):
        if line:
            event = json.loads(line)
            when = datetime.fromisoformat(event[fields[0]])
            when = (when - offset).replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
            found.append(Event(when, *(event[field] for field in fields[1:]), ((path, number),)))
    return tuple(found)
