"""What is written down: advisory, incidents, transfers, budgets, messages, duties."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import date, timedelta

from emulators.arena.scenario.reckon import completed, day_window
from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.world import (
    DAY,
    HOUR,
    Advisory,
    Agent,
    Budget,
    Change,
    Event,
    Incident,
    Message,
    Person,
    Team,
    Transfer,
)

KINDS = ("odd traffic", "data pulled at night", "unknown peer", "token misuse", "policy breach")


def grow_advisory(theme: Theme, rng: random.Random, domains: tuple[str, ...]) -> Advisory:
    """Five listed domains, one of them withdrawn; three versions of which only the corrected one fixes."""
    listed = domains[:5]
    major, minor = rng.randint(3, 6), rng.randint(1, 8)
    patches = rng.sample(range(1, 10), 3)
    return Advisory(
        id=f"ADV-{rng.randint(100, 999)}",
        product=rng.choice(theme.names.products),
        listed=listed,
        withdrawn=rng.choice(listed),
        first_fix=f"{major}.{minor}.{patches[0]}",
        fix=f"{major}.{minor}.{patches[1]}",
        press_fix=f"{major}.{minor}.{patches[2]}",
    )


def grow_incidents(
    theme: Theme, rng: random.Random, agents: tuple[Agent, ...], start: int
) -> tuple[Incident, ...]:
    """Eight incidents of as many ordinary agents; the first four are open, the others closed."""
    shared = {a.name for a in agents for b in agents if a.name == b.name and a.id != b.id}
    ordinary = [a for a in agents if not (a.test or a.protected or a.retired or a.name in shared)]
    numbers = rng.sample(range(100, 999), 8)
    return tuple(
        Incident(
            id=theme.ids.incident.format(n=number),
            agent=agent.id,
            opened=start + rng.randint(1, 5) * DAY + rng.randint(9 * HOUR, 20 * HOUR),
            closed=place >= 4,
            kind=rng.choice(KINDS),
        )
        for place, (number, agent) in enumerate(zip(numbers, rng.sample(ordinary, 8), strict=True))
    )


def grow_transfers(
    theme: Theme, rng: random.Random, teams: tuple[Team, ...], day0: date
) -> tuple[int, tuple[Transfer, ...]]:
    """The limit, and transfers below, at and above it, with one approval or two."""
    limit = rng.randint(8, 30) * 1_000
    numbers = rng.sample(range(100, 9_999), 240)
    transfers = []
    for place, number in enumerate(numbers):
        team = teams[place % len(teams)].name
        near = place // len(teams)
        if near < 3:
            amount, approvals, void = limit + rng.randint(50, limit), 1, False
        elif near == 3:
            amount, approvals, void = limit, 1, False
        elif near == 4:
            amount, approvals, void = limit + rng.randint(50, limit), 1, True
        elif near < 8:
            amount, approvals, void = limit + rng.randint(50, limit), 2, False
        else:
            amount, approvals, void = (
                rng.randint(100, limit - 100),
                rng.choice((1, 1, 2)),
                rng.random() < 0.05,
            )
        day = day0 + timedelta(days=rng.randint(-40, 6))
        transfers.append(Transfer(theme.ids.transfer.format(n=number), day, team, amount, approvals, void))
    rng.shuffle(transfers)
    return limit, tuple(transfers)


def grow_budgets(rng: random.Random, teams: tuple[Team, ...]) -> tuple[Budget, ...]:
    """A budget per team; every team has at least one correction."""
    return tuple(
        Budget(
            team=team.name,
            granted=rng.randint(80, 240) * 1_000,
            spent=(rng.randint(10_000, 25_000), rng.randint(10_000, 25_000), rng.randint(10_000, 25_000)),
            corrections=tuple(
                rng.choice((-1, 1)) * rng.randint(1, 90) * 100 for _ in range(rng.randint(1, 2))
            ),
        )
        for team in teams
    )


def grow_changes(
    theme: Theme, rng: random.Random, people: tuple[Person, ...], start: int
) -> tuple[tuple[Change, ...], tuple[Message, ...]]:
    """Changes discussed in the channel: approvals, one taken back, and remarks that approve nothing."""
    changes: list[Change] = []
    messages: list[Message] = []
    ids = iter(rng.sample(range(1_000, 9_999), 80))
    for number in rng.sample(range(100, 999), 6):
        change = theme.ids.change.format(n=number)
        asker, first, second, fan = rng.sample([person.name for person in people], 4)
        when = start + rng.randint(0, 4) * DAY + rng.randint(6 * HOUR, 14 * HOUR)
        lines = [
            (asker, f"{change} is ready for review."),
            (first, f"{change}: approved."),
            (fan, f"{change} looks good to me, though it is not mine to approve."),
        ]
        if rng.random() < 0.5:
            lines += [(second, f"{change}: approved."), (second, f"I take back my approval of {change}.")]
            approver = first
        else:
            lines += [(first, f"I take back my approval of {change}."), (second, f"{change}: approved.")]
            approver = second
        lines.append((asker, f"{change} is done."))
        decisive = ""
        for author, text in lines:
            when += rng.randint(200, 4_000)
            message = Message(theme.ids.message.format(n=next(ids)), when, author, text, change)
            messages.append(message)
            if author == approver and text.endswith("approved."):
                decisive = message.id
        changes.append(Change(change, approver, decisive))
    return tuple(changes), tuple(messages)


def grow_duties(
    theme: Theme, rng: random.Random, people: tuple[Person, ...]
) -> Mapping[str, tuple[str, str, str]]:
    """Per duty who gave it up, who the notes name, and who has it after the correction (maybe the same)."""
    duties: dict[str, tuple[str, str, str]] = {}
    for place, duty in enumerate(theme.names.duties):
        before, named, corrected = rng.sample([person.name for person in people], 3)
        duties[duty] = (before, named, corrected if place < 3 else named)
    return duties


WEEKLY_DAYS = (2, 3, 4)
"""Days of the log that the weekly report speaks of."""


def grow_weekly(
    theme: Theme,
    rng: random.Random,
    teams: tuple[Team, ...],
    agents: tuple[Agent, ...],
    events: tuple[Event, ...],
    start: int,
) -> Mapping[tuple[str, int], int]:
    """Exports per team and day as the weekly report has them: never what the log says."""
    weekly: dict[tuple[str, int], int] = {}
    for team in teams:
        members = frozenset(agent.id for agent in agents if agent.team == team.name and not agent.test)
        for day in WEEKLY_DAYS:
            true = len(completed(theme, events, members, "export", day_window(theme, start, day)))
            weekly[team.name, day] = true + rng.randint(1, 9)
    return weekly


def grow_screens(
    rng: random.Random, agents: tuple[Agent, ...]
) -> tuple[Mapping[str, int], Mapping[str, str]]:
    """What the two screens show: queue lengths of 14 agents; versions of 12, of which some are wrong."""
    working = [agent for agent in agents if not agent.retired]
    queues = {agent.id: rng.randint(3, 480) for agent in rng.sample(working, 14)}
    board: dict[str, str] = {}
    for place, agent in enumerate(rng.sample(working, 12)):
        major, minor, patch = agent.version.split(".")
        other = f"{major}.{minor}.{(int(patch) + rng.randint(1, 9)) % 10}"
        board[agent.id] = other if place < 4 else agent.version
    return queues, board
