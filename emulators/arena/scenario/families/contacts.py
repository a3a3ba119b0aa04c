"""Who contacted which domain, whatever anybody says about it."""

# ruff: noqa: S608 - queries of reference plans: data, made of names from this package
from __future__ import annotations

from emulators.arena.scenario import reckon
from emulators.arena.scenario.families.counts import members_sql
from emulators.arena.scenario.kit import NUMBER, SET, Cited, Draft, Kit, text
from emulators.arena.scenario.model import AnswerRule, Compare, Plan, Step
from emulators.arena.scenario.world import DAYS, Event

ALL_DAYS = tuple(range(DAYS))
INDICATORS = r"^- (\S+)$"
WITHDRAWN = r"(\S+) is withdrawn"


def contact_sql(kit: Kit) -> str:
    """The condition that an event is a contact (rule N7)."""
    condition = f"action = {text(kit.theme.actions['contact'])}"
    if not kit.theme.rules.blocked_counts:
        condition += f" AND {kit.field('status')} = {text(kit.theme.statuses['ok'])}"
    return condition


def domain_sql(kit: Kit, domain: str) -> str:
    """The condition that ``target`` is that domain."""
    condition = f"target = {text(domain)}"
    if kit.theme.rules.subdomains_count:
        condition += f" OR ends_with(target, {text('.' + domain)})"
    return condition


def joined_sql(kit: Kit) -> str:
    """The condition that the event ``e`` has the domain of ``d`` as its target."""
    condition = "d.domain = e.target"
    if kit.theme.rules.subdomains_count:
        condition += " OR ends_with(e.target, '.' || d.domain)"
    return condition


def indicator_steps(kit: Kit) -> tuple[Step, ...]:
    """Steps that read the advisory's list as ``$listed`` and what it withdrew as ``$withdrawn``."""
    path = kit.path("advisory")
    return (
        kit.rule_step("definitions", "D10"),
        Step("find", {"path": path, "pattern": INDICATORS, "all": True, "cite": True}, "listed"),
        Step("find", {"path": path, "pattern": WITHDRAWN, "cite": True}, "withdrawn"),
    )


def indicator_pages(kit: Kit) -> list[Cited]:
    """The pages that decide whether a domain is malicious (rule Q6)."""
    return [(kit.view.page("advisory", 2),), (kit.view.page("advisory", 4),)]


_TOUCHED = (
    "which {units} {contacted} the {domain} {host}?",
    "list every one of the {units} that {contacted} {host}.",
    "who, among the {units}, {contacted} {host} in the days of the {log}?",
    "find all {units} with a {contact} to {host}.",
)


def touched(kit: Kit) -> Draft:
    """Level 1: agents that contacted a domain; blocked contacts, subdomains and lookalikes by the rules."""
    domain = kit.rng.choice(kit.world.advisory.listed)
    first = reckon.first_contacts(kit.theme, kit.world, domain)
    query = (
        f"SELECT agent, arg_min(_path, time) AS _path, arg_min(_line, time) AS _line FROM events "
        f"WHERE {contact_sql(kit)} AND ({domain_sql(kit, domain)}) AND {members_sql(kit, None)} "
        "GROUP BY agent ORDER BY agent"
    )
    return Draft(
        family="touched",
        level=1,
        instruction=kit.say(_TOUCHED, "set", "ids", host=domain),
        answer=[*sorted(first)],
        rule=SET,
        sources=[kit.line(event) for event in first.values()],
        needs=("agents", "selfreports"),
        days=ALL_DAYS,
        plan=Plan(
            (
                kit.rule_step("counting", "N1"),
                kit.rule_step("counting", "N7"),
                kit.sql(query, "agents", name="agents", shape="list", cite="all"),
            ),
            "$agents",
        ),
    )


_REPEATED = (
    "which {domains} are {bad} by our rules, and which {units} {contacted} two or more of them?",
    "by our rules, which {domains} are {bad}? And which {units} {contacted} at least two of these?",
    "list the {domains} that are {bad}, and the {units} that {contacted} more than one of them.",
    "name every {bad} {domain} and all {units} that {contacted} at least two different ones.",
)


def repeated(kit: Kit) -> Draft:
    """Level 3: advisory joined with the log; a withdrawn indicator is none."""
    bad = reckon.malicious(kit.world)
    seen: dict[str, set[str]] = {}
    earliest: dict[str, Event] = {}
    for domain in bad:
        for agent, event in reckon.first_contacts(kit.theme, kit.world, domain).items():
            seen.setdefault(agent, set()).add(domain)
            if agent not in earliest or event.when < earliest[agent].when:
                earliest[agent] = event
    agents = sorted(agent for agent, domains in seen.items() if len(domains) >= 2)
    query = (
        "WITH d AS (SELECT unnest([{$listed}]) AS domain) SELECT e.agent, "
        "arg_min(e._path, e.time) AS _path, arg_min(e._line, e.time) AS _line FROM events e JOIN d ON "
        f"({joined_sql(kit)}) WHERE d.domain <> {{$withdrawn}} AND {contact_sql(kit)} AND "
        f"{members_sql(kit, None)} GROUP BY e.agent HAVING count(DISTINCT d.domain) >= 2 ORDER BY e.agent"
    )
    what = '"{domains}" (list, any order) and "{units}" (list of ids, any order)'
    words = kit.theme.words
    return Draft(
        family="repeated",
        level=3,
        instruction=kit.say(_REPEATED, "object", what),
        answer={words["domains"]: [*sorted(bad)], words["units"]: [*agents]},
        rule=AnswerRule(Compare.OBJECT, keys={words["domains"]: SET, words["units"]: SET}),
        sources=[*indicator_pages(kit), *(kit.line(earliest[agent]) for agent in agents)],
        needs=("agents", "advisory", "press"),
        days=ALL_DAYS,
        plan=Plan(
            (
                *indicator_steps(kit),
                kit.rule_step("counting", "N7"),
                kit.sql(query, "agents", name="agents", shape="list", cite="all"),
                kit.sql(_BAD_SQL, name="bad", shape="list"),
            ),
            {words["domains"]: "$bad", words["units"]: "$agents"},
        ),
    )


_BAD_SQL = "SELECT domain FROM (SELECT unnest([{$listed}]) AS domain) WHERE domain <> {$withdrawn}"
_CLAIMED = (
    "{agent} says that it {contacted} no {bad} {domain}. How many such events does the best source show?",
    "check the statement of {agent}: how often has it {contacted} {domains} that are {bad} by our rules?",
    "how many times has {agent} {contacted} {bad} {domains}, going by the source of the highest standing?",
    "count the {contact} events of {agent} with {bad} {domains}; do not take its own word for it.",
)


def claimed(kit: Kit) -> Draft:
    """Level 2: a self-report against the log."""
    world = kit.world
    agent = kit.rng.choice(world.incidents).agent
    bad = reckon.malicious(world)
    found = [
        event
        for event in world.events
        if event.agent == agent and any(reckon.is_contact(kit.theme, event, domain) for domain in bad)
    ]
    matching = (
        f"FROM events e JOIN ({_BAD_SQL}) d ON ({joined_sql(kit)}) "
        f"WHERE {contact_sql(kit)} AND e.agent = {text(agent)}"
    )
    return Draft(
        family="claimed",
        level=2,
        instruction=kit.say(_CLAIMED, "number", agent=agent),
        answer=len(found),
        rule=NUMBER,
        sources=[*indicator_pages(kit), *kit.ends([(event,) for event in found])],
        needs=("agents", "advisory", "selfreports"),
        days=ALL_DAYS,
        plan=Plan(
            (
                kit.rule_step("agents_md", kit.theme.rule_ids["tiers"]),
                *indicator_steps(kit),
                kit.sql(f"SELECT count(*) {matching}", name="n", shape="value"),
                kit.sql(f"SELECT e._path, e._line {matching} ORDER BY e.time", cite="ends"),
            ),
            "$n",
        ),
    )
