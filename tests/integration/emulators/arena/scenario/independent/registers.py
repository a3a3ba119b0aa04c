"""Questions to the registers and the workbooks."""

from __future__ import annotations

import re
from collections import deque
from datetime import datetime
from typing import Any

from shared.models import Source
from tests.integration.emulators.arena.scenario.independent import raw
from tests.integration.emulators.arena.scenario.independent.case import Case, Found
from tests.integration.emulators.arena.scenario.independent.rulebook import (
    ACTIVE,
    RETIRED,
    VOID,
    Event,
    get,
)


def owner(case: Case) -> Found:
    agent = case.book.record("agents", case.agents[0])
    person = case.book.record("people", get(agent, "owner"))
    return Found(
        "OK", get(person, "name"), case.record("agents", agent["id"]) + case.record("people", person["id"])
    )


def holder(case: Case) -> Found:
    tokens = {row["id"]: row for row in case.book.records("tokens")}
    line = [next(token for token in tokens if token in case.text)]
    while after := [token for token, row in tokens.items() if get(row, "replaces") == line[-1]]:
        line += after
    agent = case.book.record("agents", get(tokens[line[-1]], "holder"))
    person = case.book.record("people", get(agent, "owner"))
    answer = dict(zip(case.keys, (line[-1], agent["id"], get(person, "name")), strict=True))
    sources = case.record("tokens", *line) + case.record("agents", agent["id"])
    return Found("OK", answer, sources + case.record("people", person["id"]))


def chain(case: Case) -> Found:
    start, goal = case.agents[:2]
    live = [row for row in case.book.records("delegations") if not get(row, "ended")]
    came: dict[str, dict[str, Any] | None] = {start: None}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for row in live:
            if get(row, "giver") == here and get(row, "taker") not in came:
                came[get(row, "taker")] = row
                queue.append(get(row, "taker"))
    way, edges = [goal], []
    while row := came[way[0]]:
        way.insert(0, get(row, "giver"))
        edges.insert(0, row["id"])
    return Found("OK", way, case.record("delegations", *edges))


def outlived(case: Case) -> Found:
    retired = {
        row["id"]: get(row, "retired") for row in case.book.records("agents") if get(row, "status") in RETIRED
    }
    tokens = [
        row
        for row in case.book.records("tokens")
        if get(row, "status") in ACTIVE
        and get(row, "holder") in retired
        and get(row, "expires") > retired[get(row, "holder")]
    ]
    holders = {get(row, "holder") for row in tokens}
    ids = [row["id"] for row in tokens]
    return Found("OK", ids, case.record("tokens", *ids) + case.record("agents", *sorted(holders)))


def revoked_use(case: Case) -> Found:
    book = case.book
    revoked = {
        row["id"]: datetime.fromisoformat(get(row, "revoked"))
        for row in book.records("tokens")
        if get(row, "revoked")
    }
    first: dict[str, Event] = {}
    for event in book.events:
        used = event.action == book.code("D3") and event.status == book.statuses[0]
        if used and event.target in revoked and event.when > revoked[event.target]:
            first.setdefault(event.target, event)
    return Found("OK", [*first], case.record("tokens", *first) + [case.line(e) for e in first.values()])


def budget(case: Case) -> Found:
    path = case.book.at["budget"]
    hidden = case.book.code("D9")
    sources, left = [], 0
    for name, rows in raw.sheets(path, case.files[path]).items():
        for number, row in rows.items():
            if row[0] == case.team:
                left += row[1] if name == hidden else row[1] - sum(row[2:5])
                sources.append(Source(path=path, sheet=name, row=number))
    return Found("OK", left, sources)


def transfers(case: Case) -> Found:
    pages = case.book.pages("circular")
    page = next(n for n, text in enumerate(pages, start=1) if "limit in force is" in text)
    limit = int(re.search(r"limit in force is ([\d,]+\d)", pages[page - 1])[1].replace(",", ""))
    included = "at or over" in case.book.rules["N9"]
    path = case.book.at["transfers"]
    name, rows = next(iter(raw.sheets(path, case.files[path]).items()))
    numbers = []
    for number, row in rows.items():
        single = len(row) > 5 and row[2] == case.team and row[5] not in VOID and row[4] == 1
        if single and (row[3] > limit or (included and row[3] == limit)):
            numbers.append(number)
    answer = {"number": len(numbers), "total": sum(rows[number][3] for number in numbers)}
    sources = case.page("circular", page)
    return Found("OK", answer, sources + [Source(path=path, sheet=name, row=number) for number in numbers])
