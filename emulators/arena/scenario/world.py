"""What is true: people, agents, tokens, delegations, domains, incidents, and what happened.

A world follows from theme and seed; no variation touches it. Every answer is computed from it, and every
file is rendered from it. Times are whole seconds since the epoch, in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

DAYS = 7
DAY = 86_400
HOUR = 3_600


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who owns agents. ``phone`` and ``private_email`` are personal data."""

    id: str
    name: str
    team: str
    email: str
    phone: str
    private_email: str


@dataclass(frozen=True, slots=True)
class Team:
    """A team and its mailbox."""

    name: str
    mailbox: str


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent; ``name`` is its call name, which two agents may share."""

    id: str
    name: str
    team: str
    owner: str
    role: str
    version: str
    retired: date | None
    test: bool
    protected: bool


@dataclass(frozen=True, slots=True)
class Token:
    """A token and who holds it. ``state`` is active, rotated or revoked; ``replaces`` the token before it."""

    id: str
    agent: str
    scope: str
    issued: date
    expires: date
    state: str
    revoked_at: int | None
    replaces: str | None


@dataclass(frozen=True, slots=True)
class Delegation:
    """``giver`` lets ``taker`` act in its name, until ``ended``."""

    id: str
    giver: str
    taker: str
    scope: str
    since: date
    ended: date | None


class Event(NamedTuple):
    """One line of the audit log. ``action`` and ``status`` are neutral names; see ``Theme``."""

    when: int
    agent: str
    action: str
    target: str
    status: str
    trace: str
    attempt: int
    token: str


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident around one agent."""

    id: str
    agent: str
    opened: int
    closed: bool
    kind: str


@dataclass(frozen=True, slots=True)
class Transfer:
    """A booked transfer. ``approvals`` is 1 or 2; a void one was never carried out."""

    id: str
    day: date
    team: str
    amount: int
    approvals: int
    void: bool


@dataclass(frozen=True, slots=True)
class Budget:
    """A team's year: budget, spending by month, and corrections that stand on another sheet."""

    team: str
    granted: int
    spent: tuple[int, int, int]
    corrections: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the export. ``topic`` is a change's id where the message is about one."""

    id: str
    when: int
    author: str
    text: str
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A change and the messages that decide who approved it."""

    id: str
    approver: str
    decisive: str


@dataclass(frozen=True, slots=True)
class Advisory:
    """The signed advisory: indicators (``withdrawn`` among them), and the version that fixes a product."""

    id: str
    product: str
    listed: tuple[str, ...]
    withdrawn: str
    first_fix: str
    fix: str
    press_fix: str


@dataclass(frozen=True)
class World:
    """All that is true in one scenario.

    ``day0`` is the first day of the daily log files, ``start`` its midnight in UTC; ``archived`` ends with
    the first events of ``events``. ``duties`` says per duty who gave it up, who the notes name, and who has
    it after the correction. ``weekly`` is what the weekly report claims per team and day, ``queues`` and
    ``board`` what two screens show per agent.
    """

    org: str
    day0: date
    start: int
    people: tuple[Person, ...]
    teams: tuple[Team, ...]
    agents: tuple[Agent, ...]
    tokens: tuple[Token, ...]
    delegations: tuple[Delegation, ...]
    domains: tuple[str, ...]
    advisory: Advisory
    incidents: tuple[Incident, ...]
    transfers: tuple[Transfer, ...]
    limit: int
    budgets: tuple[Budget, ...]
    messages: tuple[Message, ...]
    changes: tuple[Change, ...]
    duties: Mapping[str, tuple[str, str, str]]
    weekly: Mapping[tuple[str, int], int]
    queues: Mapping[str, int]
    board: Mapping[str, str]
    quarantined: tuple[str, ...]
    blocked: tuple[str, ...]
    events: tuple[Event, ...]
    archived: tuple[Event, ...]

    def agent(self, agent_id: str) -> Agent:
        """The agent of that id."""
        return next(agent for agent in self.agents if agent.id == agent_id)

    def person(self, person_id: str) -> Person:
        """The person of that id."""
        return next(person for person in self.people if person.id == person_id)

    def team(self, name: str) -> Team:
        """The team of that name."""
        return next(team for team in self.teams if team.name == name)

    def members(self, team: str) -> frozenset[str]:
        """Ids of a team's agents, test agents left out (rule N1 of every theme)."""
        return frozenset(agent.id for agent in self.agents if agent.team == team and not agent.test)

    @property
    def counted(self) -> frozenset[str]:
        """Ids of all agents that are no test agents."""
        return frozenset(agent.id for agent in self.agents if not agent.test)
