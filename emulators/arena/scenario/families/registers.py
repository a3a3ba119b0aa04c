"""Questions to the registers: owners, holders, chains, what outlived whom."""

# ruff: noqa: S608 - queries of reference plans: data, made of names from this package
from __future__ import annotations

from collections import deque

from pydantic import JsonValue

from emulators.arena.scenario.families.contacts import ALL_DAYS
from emulators.arena.scenario.kit import EXACT, ORDERED, SET, Draft, Kit, text
from emulators.arena.scenario.model import AnswerRule, Compare, Plan, Step
from emulators.arena.scenario.world import Delegation, Event
from shared.models import JsonObject

_OWNER = (
    "who is the {owner} of {agent}, by full name?",
    "give the full name of the {owner} of {agent}.",
    "under whose name does {agent} stand at present ({owner}, full name)?",
    "{agent}: what is its {owner} called?",
)


def owner(kit: Kit) -> Draft:
    """Level 1: two registers joined; an old copy and a self-report say otherwise."""
    agent = kit.rng.choice([incident.agent for incident in kit.world.incidents])
    person = kit.world.person(kit.world.agent(agent).owner)
    query = (
        f"SELECT p.{kit.column('people', 'name')} FROM agents a JOIN people p "
        f"ON a.{kit.column('agents', 'owner')} = p.{kit.column('people', 'id')} "
        f"WHERE a.{kit.column('agents', 'id')} = {text(agent)}"
    )
    return Draft(
        family="owner",
        level=1,
        instruction=kit.say(_OWNER, "text", "the full name", agent=agent),
        answer=person.name,
        rule=EXACT,
        sources=[*kit.cite("agents", agent), *kit.cite("people", person.id)],
        needs=("agents", "people", "selfreports"),
        plan=Plan(
            (
                kit.sql(query, "agents", "people", name="name", shape="value"),
                cite_records(kit, "agents", [agent]),
                cite_records(kit, "people", [person.id]),
            ),
            "$name",
        ),
    )


def cite_records(kit: Kit, register: str, records: list[str]) -> Step:
    """A step that cites records of a register."""
    listed = ", ".join(text(record) for record in records)
    query = f"SELECT _path, _record FROM {register} WHERE {kit.column(register, 'id')} IN ({listed})"
    return kit.sql(query, register, cite="all")


_HOLDER = (
    "follow the {token} {first} through its rotation: the current one, its {holder}, that one's {owner}?",
    "what became of the {token} {first}? Name its present successor, the {holder} and that one's {owner}.",
    "{first} was replaced, maybe repeatedly. Which {token} is valid now, with which {holder} and {owner}?",
    "find the last {token} in the line that begins with {first}, its {holder} and the {unit}'s {owner}.",
)


def holder(kit: Kit) -> Draft:
    """Level 2: a chain of rotation, then two registers."""
    world = kit.world
    followers = {token.replaces: token for token in world.tokens if token.replaces}
    first = kit.rng.choice([t for t in world.tokens if t.state == "rotated" and not t.replaces])
    line = [first]
    while line[-1].id in followers:
        line.append(followers[line[-1].id])
    last = line[-1]
    agent = world.agent(last.agent)
    person = world.person(agent.owner)
    token_id, replaces = kit.column("tokens", "id"), kit.column("tokens", "replaces")
    line_sql = (
        "WITH RECURSIVE line AS (SELECT *, 0 AS place FROM tokens "
        f"WHERE {token_id} = {text(first.id)} UNION ALL "
        "SELECT t.*, l.place + 1 FROM tokens t JOIN line l "
        f"ON t.{replaces} = l.{token_id})"
    )
    query = (
        f"{line_sql} SELECT l.{token_id} AS token, a.{kit.column('agents', 'id')} AS holder, "
        f"p.{kit.column('people', 'name')} AS owner FROM line l JOIN agents a "
        f"ON l.{kit.column('tokens', 'agent')} = a.{kit.column('agents', 'id')} JOIN people p "
        f"ON a.{kit.column('agents', 'owner')} = p.{kit.column('people', 'id')} ORDER BY place DESC LIMIT 1"
    )
    keys = [kit.theme.words[name] for name in ("token", "holder", "owner")]
    what = '"{token}" (id), "{holder}" (id) and "{owner}" (full name)'
    return Draft(
        family="holder",
        level=2,
        instruction=kit.say(_HOLDER, "object", what, first=first.id),
        answer=dict(zip(keys, (last.id, agent.id, person.name), strict=True)),
        rule=AnswerRule(Compare.OBJECT),
        sources=[
            *kit.cite("tokens", *(token.id for token in line)),
            *kit.cite("agents", agent.id),
            *kit.cite("people", person.id),
        ],
        needs=("agents", "tokens", "people"),
        plan=Plan(
            (
                kit.rule_step("definitions", "D4"),
                kit.sql(query, "tokens", "agents", "people", name="last", shape="object"),
                cite_records(kit, "tokens", [token.id for token in line]),
                cite_records(kit, "agents", [agent.id]),
                cite_records(kit, "people", [person.id]),
            ),
            dict(zip(keys, ("$last.token", "$last.holder", "$last.owner"), strict=True)),
        ),
    )


def shortest(delegations: tuple[Delegation, ...], start: str, goal: str) -> list[list[Delegation]]:
    """All shortest chains of delegations from ``start`` to ``goal``."""
    steps: dict[str, list[Delegation]] = {}
    for delegation in delegations:
        steps.setdefault(delegation.giver, []).append(delegation)
    depth = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for delegation in steps.get(here, []):
            if delegation.taker not in depth:
                depth[delegation.taker] = depth[here] + 1
                queue.append(delegation.taker)
    if goal not in depth:
        return []
    chains: list[list[Delegation]] = []

    def back(taker: str, tail: list[Delegation]) -> None:
        if taker == start:
            chains.append(tail)
            return
        for delegation in delegations:
            if delegation.taker == taker and depth.get(delegation.giver, -9) == depth[taker] - 1:
                back(delegation.giver, [delegation, *tail])

    back(goal, [])
    return chains


_CHAIN = (
    "what is the shortest line of {delegations} in force from {start} to {goal}?",
    "over which {units} do {delegations} lead from {start} to {goal} on the shortest way that holds today?",
    "{start} acts through others: give the shortest chain of valid {delegations} that ends at {goal}.",
    "find the shortest path of {delegations} still in force between {start} (first) and {goal} (last).",
)


def chain(kit: Kit) -> Draft:
    """Level 2: the shortest chain in force; ended delegations would make a shorter one."""
    live = tuple(d for d in kit.world.delegations if d.ended is None)
    agents = sorted({d.giver for d in live} | {d.taker for d in live})
    pairs = [(start, goal) for start in agents for goal in agents if start != goal]
    kit.rng.shuffle(pairs)

    def telling(pair: tuple[str, str]) -> bool:
        chains = shortest(live, *pair)
        if len(chains) != 1 or not 3 <= len(chains[0]) <= 5:
            return False
        return len(shortest(kit.world.delegations, *pair)[0]) < len(chains[0])

    start, goal = next(pair for pair in pairs if telling(pair))
    found = shortest(live, start, goal)[0]
    answer = [start, *(delegation.taker for delegation in found)]
    ended: list[JsonValue] = [[d.giver, d.taker] for d in kit.world.delegations if d.ended is not None]
    args: JsonObject = {"from": start, "to": goal, "removed": ended}
    return Draft(
        family="chain",
        level=2,
        instruction=kit.say(_CHAIN, "ordered", f"ids from {start} to {goal}", start=start, goal=goal),
        answer=[*answer],
        rule=ORDERED,
        sources=kit.cite("delegations", *(delegation.id for delegation in found)),
        needs=("agents", "delegations"),
        plan=Plan(
            (
                kit.rule_step("definitions", "D6"),
                Step("tool", {"tool": "access_path", "args": args, "take": "path", "cite": True}, "path"),
            ),
            "$path",
        ),
    )


_OUTLIVED = (
    "which {tokens} outlive their {holder}?",
    "list all {tokens} that outlive the {unit} which is their {holder}, as the definitions mean it.",
    "find {tokens} still good although their {holder} is {retired}, in the sense of the definitions.",
    "are there {tokens} that outlive their {holder}? List them.",
)


def outlived(kit: Kit) -> Draft:
    """Level 2: active tokens of retired agents that expire after the retirement."""
    world = kit.world
    found = []
    for token in world.tokens:
        retired = world.agent(token.agent).retired
        if token.state == "active" and retired is not None and token.expires > retired:
            found.append(token)
    query = (
        f"SELECT t.{kit.column('tokens', 'id')}, t._path, t._record, "
        "a._path AS _path_2, a._record AS _record_2 FROM tokens t JOIN agents a "
        f"ON t.{kit.column('tokens', 'agent')} = a.{kit.column('agents', 'id')} "
        f"WHERE t.{kit.column('tokens', 'status')} = {text(kit.theme.states['active'])} "
        f"AND a.{kit.column('agents', 'status')} = {text(kit.theme.states['retired'])} "
        f"AND t.{kit.column('tokens', 'expires')} > a.{kit.column('agents', 'retired')}"
    )
    holders = list(dict.fromkeys(token.agent for token in found))
    return Draft(
        family="outlived",
        level=2,
        instruction=kit.say(_OUTLIVED, "set", "ids"),
        answer=[*sorted(token.id for token in found)],
        rule=SET,
        sources=[*kit.cite("tokens", *(token.id for token in found)), *kit.cite("agents", *holders)],
        needs=("agents", "tokens"),
        plan=Plan(
            (
                kit.rule_step("definitions", "D5"),
                kit.sql(query, "tokens", "agents", name="tokens", shape="list", cite="all"),
            ),
            "$tokens",
        ),
    )


_REVOKED_USE = (
    "which {tokens} were used with success after they had been revoked?",
    "find {tokens} whose use went through although they were revoked before it.",
    "list every one of the {tokens} that shows a successful use later than its revocation.",
    "were any revoked {tokens} still accepted afterwards? List them.",
)


def revoked_use(kit: Kit) -> Draft:
    """Level 3: the token register against the log."""
    world = kit.world
    revoked = {token.id: token.revoked_at for token in world.tokens if token.revoked_at is not None}
    first: dict[str, Event] = {}
    for event in world.events:
        at = revoked.get(event.target)
        if event.action == "use" and event.status == "ok" and at is not None and event.when > at:
            first.setdefault(event.target, event)
    at_column = kit.column("tokens", "revoked")
    query = (
        f"SELECT t.{kit.column('tokens', 'id')} AS token, any_value(t._path) AS _path, "
        "any_value(t._record) AS _record, arg_min(e._path, e.time) AS _path_2, "
        "arg_min(e._line, e.time) AS _line_2 "
        f"FROM tokens t JOIN events e ON e.target = t.{kit.column('tokens', 'id')} "
        f"WHERE e.action = {text(kit.theme.actions['use'])} "
        f"AND e.{kit.field('status')} = {text(kit.theme.statuses['ok'])} "
        f"AND e.time > t.{at_column} GROUP BY 1"
    )
    return Draft(
        family="revoked_use",
        level=3,
        instruction=kit.say(_REVOKED_USE, "set", "ids"),
        answer=[*sorted(first)],
        rule=SET,
        sources=[*kit.cite("tokens", *first), *(kit.line(event) for event in first.values())],
        needs=("tokens",),
        days=ALL_DAYS,
        plan=Plan(
            (
                kit.rule_step("definitions", "D3"),
                kit.sql(query, "tokens", name="tokens", shape="list", cite="all"),
            ),
            "$tokens",
        ),
    )
