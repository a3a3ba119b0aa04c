"""Questions to papers, messages and pictures."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from shared.models import Source
from tests.integration.emulators.arena.scenario.independent import raw
from tests.integration.emulators.arena.scenario.independent.case import Case, Found
from tests.integration.emulators.arena.scenario.independent.rulebook import (
    get,
)


def fix(case: Case) -> Found:
    pages = [page.replace("\n", " ") for page in case.book.pages("advisory")]
    for number, page in enumerate(pages, start=1):
        if match := re.search(r"fixed in \w+ (\S+), not in", page):
            return Found("OK", match[1], case.page("advisory", number))
    raise AssertionError(pages)


def duty(case: Case) -> Found:
    path = case.book.at["handover"]
    paragraphs = raw.paragraphs(path, case.files[path])
    told = r"(?:has|gives up|Monday) the ([a-z ]+?)(?:;|\.| is with)|^The ([a-z ]+?) goes from"
    duties = [one or other for text in paragraphs for one, other in re.findall(told, text)]
    name = next(name for name in duties if name in case.text.lower())
    about = [(n, text) for n, text in enumerate(paragraphs, start=1) if f"the {name}" in text.lower()]
    number, text = about[-1]
    person = r"([A-Z]\w+ [A-Z]\w+)"
    patterns = (
        rf"it goes to {person}, not to",
        rf"is taken over by {person}\.",
        rf"above about the {name}: {person} has it",
        rf"^From Monday, {person} has",
        rf"to {person} as of Monday",
        rf"\. {person} takes it over",
        rf"is with {person} \(so far",
    )
    answer = next(match[1] for pattern in patterns if (match := re.search(pattern, text)))
    return Found("OK", answer, [Source(path=path, paragraph=number)])


def gap(case: Case) -> Found:
    book = case.book
    path = book.at["weekly"]
    day = case.dates[0]
    paragraphs = raw.paragraphs(path, case.files[path])
    number = next(n for n, text in enumerate(paragraphs) if day in text and case.team in text)
    claim = int(re.search(r"\b\d+\b", paragraphs[number].replace(day, ""))[0])
    calls = book.completed(book.members(case.team), book.code("D1"), book.day(day))
    return Found("OK", claim - len(calls), [Source(path=path, paragraph=number + 1), *case.ends(calls)])


def _messages(case: Case) -> list[tuple[datetime, str, str, Source]]:
    """Moment, author, text and place of every message, by time."""
    path = case.book.at["messages"]
    found = []
    if path.endswith(".md"):
        for number, line in enumerate(raw.lines(case.files[path]), start=1):
            if match := re.match(r"\[\S+\] (\S+) (.+?): (.+)", line):
                found.append(
                    (datetime.fromisoformat(match[1]), match[2], match[3], Source(path=path, line=number))
                )
    else:
        for row in case.book.records("messages"):
            source = Source(path=path, record=row["id"])
            found.append(
                (datetime.fromisoformat(get(row, "sent")), get(row, "author"), get(row, "text"), source)
            )
    return sorted(found, key=lambda message: message[0])


def _change(case: Case) -> str:
    return re.search(r"\b(CHG-\d+|WO-\d+)\b", case.text)[1]


def approver(case: Case) -> Found:
    change = _change(case)
    standing: list[tuple[str, Source]] = []
    for _, author, text, source in _messages(case):
        if text == f"{change}: approved.":
            standing.append((author, source))
        elif text == f"I take back my approval of {change}.":
            standing = [approval for approval in standing if approval[0] != author]
    return Found("OK", standing[-1][0], [standing[-1][1]])


def mention(case: Case) -> Found:
    when, _, _, source = next(message for message in _messages(case) if _change(case) in message[2])
    return Found("OK", when.astimezone(UTC).strftime("%Y-%m-%d %H:%M"), [source])


def _seen(case: Case, value: str) -> tuple[str, dict[str, str]]:
    """The screenshot whose second column has that form, as path and entries."""
    for path, data in case.files.items():
        if path.endswith((".png", ".jpg")):
            rows = [line.split() for line in raw.picture(data)[1:]]
            if all(re.fullmatch(value, row[-1]) for row in rows):
                return path, {row[0]: row[-1] for row in rows}
    raise AssertionError("no such picture")


def queue(case: Case) -> Found:
    path, entries = _seen(case, r"\d+")
    return Found("OK", int(entries[case.agents[0]]), [Source(path=path)])


def board(case: Case) -> Found:
    path, entries = _seen(case, r"\d+\.\d+\.\d+")
    wrong = [a for a, version in entries.items() if get(case.book.record("agents", a), "version") != version]
    return Found("OK", wrong, [Source(path=path), *case.record("agents", *wrong)])
