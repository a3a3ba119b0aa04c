"""Questions to the log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from tests.integration.emulators.arena.scenario.independent.case import Case, Found
from tests.integration.emulators.arena.scenario.independent.rulebook import (
    Event,
)


def completed(case: Case) -> Found:
    book = case.book
    calls = book.completed(book.members(case.team), book.code("D1"), book.day(case.dates[0]))
    return Found("OK", len(calls), case.ends(calls))


def first_local(case: Case) -> Found:
    window = case.book.day(case.dates[0], local=True)
    event = next(
        event
        for event in case.book.events
        if event.agent == case.agents[0]
        and event.action == case.book.code("D1", 1)
        and window[0] <= event.when < window[1]
    )
    local = (event.when + case.book.offset).strftime("%H:%M:%S")
    return Found("OK", {"trace": event.trace, "local_time": local}, [case.line(event)])


def rate(case: Case) -> Found:
    book = case.book
    calls = book.calls(book.members(case.team), book.code("D1", 1), book.day(case.dates[0]))
    failed = sum(call[-1].status == book.statuses[1] for call in calls)
    if "one decimal" in book.rules["N5"]:
        answer = int(failed * 1000 / len(calls) + 0.5 + 1e-9) / 10
    else:
        assert "fraction dropped" in book.rules["N5"]
        answer = failed * 100 // len(calls)
    return Found("OK", answer, case.ends(calls))


def across(case: Case) -> Found:
    moments = re.findall(r"(\d{4}-\d{2}-\d{2} \d{2}:\d{2}) UTC", case.text)
    since, until = (datetime.fromisoformat(moment).replace(tzinfo=UTC) for moment in moments)
    calls = case.book.completed(case.book.counted, case.book.code("D1"), (since, until))
    return Found("OK", len(calls), case.ends(calls))


def ranking(case: Case) -> Found:
    window = (case.book.day(case.dates[0])[0], case.book.day(case.dates[1])[1])
    calls = case.book.completed(case.book.counted, case.book.code("D1"), window)
    numbers: dict[str, int] = {}
    for call in calls:
        numbers[call[0].agent] = numbers.get(call[0].agent, 0) + 1
    top = sorted(numbers, key=lambda agent: (-numbers[agent], agent))[:3]
    return Found("OK", top, case.ends(calls))


def _host(case: Case) -> str:
    return re.search(r"\b[a-z]+-[a-z]+\.(?:test|invalid|example)\b", case.text)[0]


def _firsts(case: Case, domains: Sequence[str]) -> dict[str, dict[str, Event]]:
    """Per agent that counts, its first contact with each domain."""
    firsts: dict[str, dict[str, Event]] = {}
    for domain in domains:
        for event in case.book.contacts(domain):
            if event.agent in case.book.counted:
                firsts.setdefault(event.agent, {}).setdefault(domain, event)
    return firsts


def touched(case: Case) -> Found:
    firsts = _firsts(case, [_host(case)])
    return Found("OK", [*firsts], [case.line(next(iter(f.values()))) for f in firsts.values()])


def repeated(case: Case) -> Found:
    domains, listing, withdrawing = case.book.indicators
    agents = {agent: f for agent, f in _firsts(case, domains).items() if len(f) >= 2}
    lines = [case.line(min(f.values(), key=lambda event: event.when)) for f in agents.values()]
    answer = dict(zip(case.keys, (domains, [*agents]), strict=True))
    return Found("OK", answer, [*case.page("advisory", listing, withdrawing), *lines])


def claimed(case: Case) -> Found:
    domains, listing, withdrawing = case.book.indicators
    events = [e for domain in domains for e in case.book.contacts(domain) if e.agent == case.agents[0]]
    events.sort(key=lambda event: event.when)
    sources = [*case.page("advisory", listing, withdrawing), *case.ends([[event] for event in events])]
    return Found("OK", len(events), sources)


def verdict(case: Case) -> Found:
    domains, listing, withdrawing = case.book.indicators
    answer = "yes" if _host(case) in domains else "no"
    return Found("OK", answer, case.page("advisory", listing, withdrawing))
