"""What happened: the events of the log that matter. Routine noise belongs to the variation, not here."""

from __future__ import annotations

import random

from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.world import DAY, DAYS, HOUR, Advisory, Agent, Event, Incident, Token

ROTATION_OVERLAP = 2_400
_PER_DAY = {"export": 84, "deploy": 56, "contact": 110, "use": 76}


class _Log:
    """Collects events at times that no two of them share, so that first and last are always clear."""

    def __init__(self, theme: Theme, rng: random.Random) -> None:
        self.events: list[Event] = []
        self._times: set[int] = set()
        self._traces: set[str] = set()
        self._theme = theme
        self._rng = rng

    def trace(self) -> str:
        while True:
            trace = self._theme.ids.trace.format(hex=f"{self._rng.getrandbits(28):07x}")
            if trace not in self._traces:
                self._traces.add(trace)
                return trace

    def add(
        self,
        when: int,
        agent: str,
        action: str,
        target: str,
        status: str,
        trace: str,
        attempt: int,
        token: str,
    ) -> None:
        while when in self._times:
            when += 1
        self._times.add(when)
        self.events.append(Event(when, agent, action, target, status, trace, attempt, token))


def grow_events(
    theme: Theme,
    rng: random.Random,
    agents: tuple[Agent, ...],
    tokens: tuple[Token, ...],
    domains: tuple[str, ...],
    advisory: Advisory,
    incidents: tuple[Incident, ...],
    start: int,
) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
    """Grow the log.

    Returns:
        The events of the daily files (UTC days from ``start``), and those of the rotated archive, which
        covers the local day before ``start`` and overlaps the first daily file by 40 minutes.
    """
    log = _Log(theme, rng)
    actors = [agent for agent in agents if not agent.retired]
    held: dict[str, list[str]] = {agent.id: [] for agent in agents}
    for token in tokens:
        if token.state == "active":
            held[token.agent].append(token.id)
    archive_from = start - DAY - theme.offset_hours * HOUR
    for first, length in [
        (archive_from, start - archive_from),
        *((start + n * DAY, DAY) for n in range(DAYS)),
    ]:
        for action, count in _PER_DAY.items():
            for _ in range(count * length // DAY):
                agent = rng.choice(actors).id
                _call(theme, rng, log, first + rng.randrange(length), agent, action, held[agent], domains)
    ordinary = [agent for agent in actors if not agent.test]
    _plant_contacts(rng, log, ordinary, [agent for agent in actors if agent.test], held, advisory, start)
    _plant_incidents(rng, log, incidents, held, advisory, theme)
    _plant_revoked_use(rng, log, tokens, start)
    events = sorted(log.events)
    daily = tuple(event for event in events if start <= event.when < start + DAYS * DAY)
    archived = tuple(event for event in events if archive_from <= event.when < start + ROTATION_OVERLAP)
    return daily, archived


def _call(
    theme: Theme,
    rng: random.Random,
    log: _Log,
    when: int,
    agent: str,
    action: str,
    held: list[str],
    domains: tuple[str, ...],
) -> None:
    """One call of everyday work, with a retry where its first attempt failed."""
    token = rng.choice(held)
    trace = log.trace()
    if action == "contact":
        status = rng.choices(("ok", "blocked", "failed"), (88, 8, 4))[0]
        log.add(when, agent, action, rng.choice(domains[8:]), status, trace, 1, token)
        return
    if action == "use":
        log.add(when, agent, action, token, rng.choices(("ok", "blocked"), (94, 6))[0], trace, 1, token)
        return
    target = rng.choice(theme.names.datasets if action == "export" else theme.names.services)
    failing = 0.25 if action == "export" else 0.34
    attempt = 1
    while True:
        status = "failed" if rng.random() < failing else "ok"
        log.add(when, agent, action, target, status, trace, attempt, token)
        if status == "ok" or attempt == 3 or rng.random() < 0.3:
            return
        attempt += 1
        when += rng.randint(20, 90)


def _plant_contacts(
    rng: random.Random,
    log: _Log,
    ordinary: list[Agent],
    tests: list[Agent],
    held: dict[str, list[str]],
    advisory: Advisory,
    start: int,
) -> None:
    """Contacts with every listed domain, with all that a counting rule may tell apart."""

    def contact(agent: Agent, domain: str, status: str) -> None:
        when = start + rng.randrange(DAYS * DAY)
        log.add(when, agent.id, "contact", domain, status, log.trace(), 1, rng.choice(held[agent.id]))

    for domain in advisory.listed:
        cast = rng.sample(ordinary, 9)
        for agent in cast[: rng.randint(3, 5)]:
            for _ in range(rng.randint(1, 3)):
                contact(agent, domain, "ok")
        contact(cast[5], domain, "blocked")
        contact(cast[6], domain, "failed")
        contact(cast[7], f"{rng.choice(('cdn', 'eu', 'static'))}.{domain}", "ok")
        contact(cast[8], f"my{domain}", "ok")
        contact(rng.choice(tests), domain, "ok")


def _plant_incidents(
    rng: random.Random,
    log: _Log,
    incidents: tuple[Incident, ...],
    held: dict[str, list[str]],
    advisory: Advisory,
    theme: Theme,
) -> None:
    """Before each incident was opened, its agent contacted listed domains and moved data."""
    valid = [domain for domain in advisory.listed if domain != advisory.withdrawn]
    for incident in incidents:
        for domain in (*rng.sample(valid, 2), advisory.withdrawn):
            when = incident.opened - rng.randint(60, 6 * HOUR)
            token = rng.choice(held[incident.agent])
            log.add(when, incident.agent, "contact", domain, "ok", log.trace(), 1, token)
        for _ in range(rng.randint(6, 9)):
            when = incident.opened + rng.randint(-5 * HOUR, 2 * HOUR)
            token, trace = rng.choice(held[incident.agent]), log.trace()
            target = rng.choice(theme.names.datasets)
            log.add(when, incident.agent, "export", target, "ok", trace, 1, token)


def _plant_revoked_use(rng: random.Random, log: _Log, tokens: tuple[Token, ...], start: int) -> None:
    """Uses of revoked tokens: some went through afterwards, some were blocked, most ended in time."""
    end = start + DAYS * DAY
    revoked = [token for token in tokens if token.revoked_at is not None and token.revoked_at > start]
    for number, token in enumerate(revoked):
        at = token.revoked_at
        assert at is not None
        for _ in range(rng.randint(1, 2)):
            log.add(rng.randint(start, at - 1), token.agent, "use", token.id, "ok", log.trace(), 1, token.id)
        if number < 7:
            status = "ok" if number < 4 else "blocked"
            for _ in range(rng.randint(1, 2)):
                when = rng.randint(at + 30, end - 200)
                log.add(when, token.agent, "use", token.id, status, log.trace(), 1, token.id)
