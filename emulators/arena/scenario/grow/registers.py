"""Who and what there is: people, agents, tokens, delegations, domains."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

from emulators.arena.scenario.names import FIRST_NAMES, HOST_ENDINGS, HOST_KINDS, HOST_WORDS, LAST_NAMES
from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.world import DAY, DAYS, Agent, Delegation, Person, Team, Token

AGENTS = 42
_TEST, _PROTECTED, _RETIRED, _SHARED_NAMES = 4, 3, 5, 2
_LETTERS = "ABCDEFGHKLMNPRSTUVWXYZ"


def grow_people(theme: Theme, rng: random.Random) -> tuple[tuple[Team, ...], tuple[Person, ...]]:
    """Eight teams with a mailbox each, three owners per team."""
    names = theme.names
    teams = tuple(
        Team(team, f"{team.lower().replace(' ', '-')}@{names.mail_domain}")
        for team in rng.sample(names.teams, 8)
    )
    firsts, lasts = rng.sample(FIRST_NAMES, 24), rng.sample(LAST_NAMES, 24)
    numbers = rng.sample(range(100, 999), 24)
    people = []
    for index, (first, last, number) in enumerate(zip(firsts, lasts, numbers, strict=True)):
        people.append(
            Person(
                id=theme.ids.person.format(n=number),
                name=f"{first} {last}",
                team=teams[index % 8].name,
                email=f"{first}.{last}@{names.mail_domain}".lower(),
                phone=f"+{rng.randint(30, 99)} 555 {rng.randint(100, 999)} {rng.randint(100, 999)}",
                private_email=f"{first[0]}.{last}{rng.randint(60, 99)}@postbox.example".lower(),
            )
        )
    return teams, tuple(people)


def grow_agents(
    theme: Theme, rng: random.Random, people: tuple[Person, ...], day0: date
) -> tuple[Agent, ...]:
    """Agents in random order: some test agents, protected ones, retired ones, two pairs of one call name."""
    calls = rng.sample(theme.names.calls, AGENTS - _SHARED_NAMES)
    calls += calls[:_SHARED_NAMES]
    numbers = rng.sample(range(1, 99), AGENTS)
    agents = []
    for index in range(AGENTS):
        owner = people[index % len(people)]
        role = rng.choice(theme.names.roles)
        agents.append(
            Agent(
                id=theme.ids.agent.format(n=numbers[index], role=role[:3].upper()),
                name=calls[index],
                team=owner.team,
                owner=owner.id,
                role=role,
                version=f"{rng.randint(2, 4)}.{rng.randint(0, 9)}.{rng.randint(0, 9)}",
                retired=None,
                test=False,
                protected=False,
            )
        )
    # The pairs that share a name (first two and last two) stay ordinary agents.
    special = rng.sample(range(_SHARED_NAMES, AGENTS - _SHARED_NAMES), _TEST + _PROTECTED + _RETIRED)
    for place, index in enumerate(special):
        if place < _TEST:
            agents[index] = replace(agents[index], test=True)
        elif place < _TEST + _PROTECTED:
            agents[index] = replace(agents[index], protected=True)
        else:
            agents[index] = replace(agents[index], retired=day0 - timedelta(days=rng.randint(10, 60)))
    rng.shuffle(agents)
    return tuple(agents)


def grow_tokens(theme: Theme, rng: random.Random, agents: tuple[Agent, ...], day0: date) -> tuple[Token, ...]:
    """Active tokens of every agent, chains of rotation, revoked tokens, and what retired agents left."""
    ids = _token_ids(theme, rng)
    midnight = int((day0 - date(1970, 1, 1)).total_seconds())
    tokens: list[Token] = []

    def issue(
        holder: Agent,
        state: str = "active",
        expires: date | None = None,
        revoked_at: int | None = None,
        replaces: str | None = None,
    ) -> Token:
        token = Token(
            id=next(ids),
            agent=holder.id,
            scope=rng.choice(theme.names.scopes),
            issued=day0 - timedelta(days=rng.randint(70, 300)),
            expires=expires or day0 + timedelta(days=rng.randint(8, 120)),
            state=state,
            revoked_at=revoked_at,
            replaces=replaces,
        )
        tokens.append(token)
        return token

    working = [agent for agent in agents if not agent.retired]
    for agent in working:
        for _ in range(rng.randint(2, 4)):
            issue(agent)
    for _ in range(6):
        before: str | None = None
        for _ in range(rng.randint(2, 3)):
            before = issue(rng.choice(working), "rotated", replaces=before).id
        issue(rng.choice([agent for agent in working if not agent.test]), replaces=before)
    ordinary = [agent for agent in working if not agent.test and not agent.protected]
    for _ in range(18):
        at = midnight + rng.randint(DAY, (DAYS - 2) * DAY)
        issue(rng.choice(ordinary), "revoked", revoked_at=at)
    for number, agent in enumerate(agent for agent in agents if agent.retired):
        assert agent.retired is not None
        for _ in range(rng.randint(1, 2) if number < 4 else 0):
            issue(agent, expires=agent.retired + timedelta(days=rng.randint(20, 200)))
        issue(agent, expires=agent.retired - timedelta(days=rng.randint(1, 30)))
        issue(agent, "revoked", revoked_at=midnight - rng.randint(20, 60) * DAY)
    rng.shuffle(tokens)
    return tuple(tokens)


def _token_ids(theme: Theme, rng: random.Random) -> Iterator[str]:
    seen: set[str] = set()
    while True:
        token = theme.ids.token.format(letters="".join(rng.choices(_LETTERS, k=3)), n=rng.randint(10, 99))
        if token not in seen:
            seen.add(token)
            yield token


def grow_delegations(
    theme: Theme, rng: random.Random, agents: tuple[Agent, ...], day0: date
) -> tuple[Delegation, ...]:
    """A sparse graph in force, and ended delegations that would shorten many of its paths."""
    working = [agent.id for agent in agents if not agent.retired]
    rng.shuffle(working)
    pairs: dict[tuple[str, str], bool] = {}
    for index, giver in enumerate(working):
        for step in rng.sample(range(1, 6), 2):
            if index + step < len(working):
                pairs[giver, working[index + step]] = True
    for _ in range(28):
        near = rng.randrange(len(working) - 8)
        pairs.setdefault((working[near], working[near + rng.randint(6, 8)]), False)
    numbers = iter(rng.sample(range(1, 999), len(pairs)))
    delegations = [
        Delegation(
            id=theme.ids.delegation.format(n=next(numbers)),
            giver=giver,
            taker=taker,
            scope=rng.choice(theme.names.scopes),
            since=day0 - timedelta(days=rng.randint(80, 400)),
            ended=None if live else day0 - timedelta(days=rng.randint(1, 79)),
        )
        for (giver, taker), live in pairs.items()
    ]
    rng.shuffle(delegations)
    return tuple(delegations)


def grow_domains(rng: random.Random) -> tuple[str, ...]:
    """Thirty hosts; the first eight are for advisory and containment, the others are harmless."""
    words = rng.sample(HOST_WORDS, 30)
    return tuple(f"{word}-{rng.choice(HOST_KINDS)}.{rng.choice(HOST_ENDINGS)}" for word in words)
