"""Puts a world together, each part from its own stream."""

from __future__ import annotations

import random
from datetime import date, timedelta

from emulators.arena.scenario.grow.happenings import grow_events
from emulators.arena.scenario.grow.papers import (
    grow_advisory,
    grow_budgets,
    grow_changes,
    grow_duties,
    grow_incidents,
    grow_screens,
    grow_transfers,
    grow_weekly,
)
from emulators.arena.scenario.grow.registers import (
    grow_agents,
    grow_delegations,
    grow_domains,
    grow_people,
    grow_tokens,
)
from emulators.arena.scenario.streams import stream
from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.world import World


def grow(theme: Theme, seed: int) -> World:
    """What is true for this theme and seed."""

    def rng(part: str) -> random.Random:
        return stream(theme.name, seed, "world", part)

    org = rng("org").choice(theme.names.org)
    day0 = theme.start + timedelta(days=rng("day").randrange(14))
    start = int((day0 - date(1970, 1, 1)).total_seconds())
    teams, people = grow_people(theme, rng("people"))
    agents = grow_agents(theme, rng("agents"), people, day0)
    tokens = grow_tokens(theme, rng("tokens"), agents, day0)
    domains = grow_domains(rng("domains"))
    advisory = grow_advisory(theme, rng("advisory"), domains)
    incidents = grow_incidents(theme, rng("incidents"), agents, start)
    limit, transfers = grow_transfers(theme, rng("transfers"), teams, day0)
    changes, messages = grow_changes(theme, rng("changes"), people, start)
    daily, archived = grow_events(theme, rng("events"), agents, tokens, domains, advisory, incidents, start)
    protected = next(agent.id for agent in agents if agent.protected)
    valid = [domain for domain in advisory.listed if domain != advisory.withdrawn]
    queues, board = grow_screens(rng("screens"), agents)
    return World(
        org=org,
        day0=day0,
        start=start,
        people=people,
        teams=teams,
        agents=agents,
        tokens=tokens,
        delegations=grow_delegations(theme, rng("delegations"), agents, day0),
        domains=domains,
        advisory=advisory,
        incidents=incidents,
        transfers=transfers,
        limit=limit,
        budgets=grow_budgets(rng("budgets"), teams),
        messages=messages,
        changes=changes,
        duties=grow_duties(theme, rng("duties"), people),
        weekly=grow_weekly(theme, rng("weekly"), teams, agents, daily, start),
        queues=queues,
        board=board,
        quarantined=(*(incident.agent for incident in incidents[4:6]), protected),
        blocked=(rng("blocked").choice(valid), domains[5], domains[6]),
        events=daily,
        archived=archived,
    )
