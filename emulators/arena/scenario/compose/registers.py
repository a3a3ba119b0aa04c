"""Operator files, registers, and old copies of registers."""

from __future__ import annotations

import random

from emulators.arena.scenario.effects import dump_containment
from emulators.arena.scenario.looks import Look
from emulators.arena.scenario.reckon import day_text
from emulators.arena.scenario.render.records import RecordFormat, Row, write_records
from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.view import View
from emulators.arena.scenario.world import World
from shared.models import JsonObject


def write_operator_files(view: View) -> None:
    """``/AGENTS.md`` and the files that it names, with the scenario's paths, names and numbers filled in."""
    theme, world, look = view.theme, view.world, view.look
    names = theme.names
    values = {
        "org": world.org,
        "domains_text": f"{names.mail_domain} and {names.partner_domain}",
        "zone": theme.zone,
        "offset": f"{theme.offset_hours:+03d}:00",
        "rotate_days": theme.rules.rotate_days,
        "at_log": look.log,
        "at_stale": look.stale,
        "s_corrections": theme.columns["budget"]["corrections"],
        "c_test": theme.columns["agents"]["test"],
        **{f"at_{name}": path for name, path in look.paths.items()},
        **{f"f_{name}": value for name, value in theme.fields.items()},
        **{f"a_{name}": value for name, value in theme.actions.items()},
    }
    values |= {f"s_{name}": value for name, value in theme.statuses.items()}
    for name, lines in theme.operator.items():
        view.put_text(name, [line.format_map(values) for line in lines])


def write_registers(view: View, rng: random.Random) -> None:
    """The registers, each in an order of its own, and the containment state of the shift before."""
    for name, rows in register_rows(view.theme, view.world, view.look).items():
        rng.shuffle(rows)
        view.put(name, write_records(rows, view.theme.columns[name], record_format(view.look, name)))
    state: JsonObject = {
        "quarantined": [*view.world.quarantined],
        "revoked": [*[token.id for token in view.world.tokens if token.state == "revoked"][:3]],
        "rotated": [],
        "blocked": [*view.world.blocked],
        "notes": ["State taken over from the shift before."],
    }
    view.put("containment", dump_containment(state))


def record_format(look: Look, name: str) -> RecordFormat:
    """The format of a register in a look."""
    return "json" if look.formats[name] == "json" else "csv"


def register_rows(theme: Theme, world: World, look: Look) -> dict[str, list[Row]]:
    """The rows of every register, by neutral column names."""
    state = theme.states
    yes = {True: state["yes"], False: state["no"]}
    return {
        "agents": [
            {
                "id": agent.id,
                "name": agent.name,
                "team": agent.team,
                "owner": agent.owner,
                "role": agent.role,
                "version": agent.version,
                "status": state["retired" if agent.retired else "active"],
                "retired": agent.retired.isoformat() if agent.retired else None,
                "test": yes[agent.test],
                "protected": yes[agent.protected],
            }
            for agent in world.agents
        ],
        "tokens": [
            {
                "id": token.id,
                "agent": token.agent,
                "scope": token.scope,
                "issued": token.issued.isoformat(),
                "expires": token.expires.isoformat(),
                "status": state[token.state],
                "revoked": look.moment(token.revoked_at) if token.revoked_at is not None else None,
                "replaces": token.replaces,
            }
            for token in world.tokens
        ],
        "delegations": [
            {
                "id": delegation.id,
                "giver": delegation.giver,
                "taker": delegation.taker,
                "scope": delegation.scope,
                "since": delegation.since.isoformat(),
                "ended": delegation.ended.isoformat() if delegation.ended else None,
            }
            for delegation in world.delegations
        ],
        "people": [
            {
                "id": person.id,
                "name": person.name,
                "team": person.team,
                "email": person.email,
                "phone": person.phone,
                "private": person.private_email,
            }
            for person in world.people
        ],
        "teams": [
            {"id": team.name, "mailbox": team.mailbox, "size": sum(a.team == team.name for a in world.agents)}
            for team in world.teams
        ],
        "incidents": [
            {
                "id": incident.id,
                "agent": incident.agent,
                "opened": look.moment(incident.opened),
                "state": state["closed" if incident.closed else "open"],
                "kind": incident.kind,
            }
            for incident in world.incidents
        ],
    }


def write_stale_copies(view: View, rng: random.Random) -> None:
    """Old copies of two registers, in which owners, teams and states were others."""
    theme, world = view.theme, view.world
    rows = register_rows(theme, world, view.look)
    teams = [team.name for team in world.teams]
    agents: list[Row] = [
        {
            **row,
            "team": rng.choice(teams),
            "owner": rng.choice(world.people).id,
            "status": theme.states["active"],
        }
        for row in rows["agents"]
    ]
    tokens: list[Row] = [
        {**row, "agent": rng.choice(world.agents).id, "status": theme.states["active"], "replaces": None}
        for row in rows["tokens"][: len(rows["tokens"]) * 2 // 3]
    ]
    for name, old in (("agents", agents), ("tokens", tokens)):
        form: RecordFormat = rng.choice(("csv", "json"))
        day = day_text(world.start, -rng.randint(20, 60))
        stem = view.look.paths[name].rpartition("/")[2].partition(".")[0]
        path = f"{view.look.stale}/{stem}-{day}.{form}"
        view.stale.append((path, write_records(old, theme.columns[name], form)))
