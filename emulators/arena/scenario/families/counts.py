"""Numbers drawn from the log by the counting rules."""

# ruff: noqa: S608 - queries of reference plans: data, made of names from this package
from __future__ import annotations

from collections.abc import Sequence

from emulators.arena.scenario import reckon
from emulators.arena.scenario.kit import NUMBER, ORDERED, Draft, Kit, text
from emulators.arena.scenario.model import AnswerRule, Compare, Plan, Step
from emulators.arena.scenario.reckon import Call, Window
from emulators.arena.scenario.world import HOUR


def calls_sql(kit: Kit, action: str, window: Window, agents_sql: str) -> str:
    """A query for the calls of some agents inside a window: trace, agent, began, ended.

    Args:
        agents_sql: a condition on ``agent``.
    """
    attempt, status = kit.field("attempt"), kit.field("status")
    group = "trace, agent" if kit.theme.rules.retries_once else f"trace, agent, {attempt}"
    first, last = (reckon.iso(moment, style="").replace("T", " ") for moment in window)
    return (
        f"SELECT trace, agent, min(time) AS began, arg_max({status}, {attempt}) AS ended FROM events "
        f"WHERE action = {text(kit.theme.actions[action])} AND {agents_sql} GROUP BY {group} "
        f"HAVING min(time) >= TIMESTAMP '{first}' AND min(time) < TIMESTAMP '{last}'"
    )


def members_sql(kit: Kit, team: str | None) -> str:
    """The condition that ``agent`` is in the team (or any) and no test agent."""
    where = f"CAST({kit.column('agents', 'test')} AS VARCHAR) = {text(kit.theme.states['no'])}"
    if team is not None:
        where += f" AND {kit.column('agents', 'team')} = {text(team)}"
    return f"agent IN (SELECT {kit.column('agents', 'id')} FROM agents WHERE {where})"


def ends_step(kit: Kit, calls: str, condition: str = "true") -> Step:
    """The step that cites the first and the last call counted."""
    query = (
        f"SELECT e._path, e._line FROM events e JOIN ({calls}) c ON e.trace = c.trace AND e.time = c.began "
        f"WHERE {condition} ORDER BY c.began"
    )
    return kit.sql(query, "agents", cite="ends")


def well(kit: Kit) -> str:
    """The condition that a call ended well."""
    return f"ended = {text(kit.theme.statuses['ok'])}"


def counting_plan(kit: Kit, calls: str, rules: Sequence[str]) -> tuple[Step, ...]:
    """Steps that count completed calls as ``$n`` and cite the ends."""
    return (
        *(kit.rule_step("counting", rule) for rule in rules),
        kit.sql(f"SELECT count(*) FROM ({calls}) WHERE {well(kit)}", "agents", name="n", shape="value"),
        ends_step(kit, calls, well(kit)),
    )


def naive(kit: Kit, team: str, action: str, window: Window) -> int:
    """What a reader gets who knows no counting rule: events of the team's agents that ended well."""
    agents = {agent.id for agent in kit.world.agents if agent.team == team}
    return sum(
        event.action == action
        and event.status == "ok"
        and event.agent in agents
        and window[0] <= event.when < window[1]
        for event in kit.world.events
    )


_COMPLETED = (
    "how many {exports} did the {team} {name} complete on {date}?",
    "count the {exports} that the {team} {name} completed on {date}.",
    "what is the number of {exports} completed by the {team} {name} on {date}?",
    "on {date}, how many {exports} of the {team} {name} were completed?",
)


def completed_calls(kit: Kit) -> Draft:
    """Level 1: calls of a team on a day, by the counting rules."""
    world, theme = kit.world, kit.theme
    choices = [(team.name, day) for team in world.teams for day in range(1, 6)]
    kit.rng.shuffle(choices)

    def found(choice: tuple[str, int]) -> list[Call]:
        window = reckon.day_window(theme, world.start, choice[1])
        return reckon.completed(theme, world.events, world.members(choice[0]), "export", window)

    def telling(choice: tuple[str, int]) -> bool:
        window = reckon.day_window(theme, world.start, choice[1])
        return len(found(choice)) >= 3 and naive(kit, choice[0], "export", window) != len(found(choice))

    team, day = next((choice for choice in choices if telling(choice)), choices[0])
    window = reckon.day_window(theme, world.start, day)
    counted = found((team, day))
    calls = calls_sql(kit, "export", window, members_sql(kit, team))
    return Draft(
        family="completed_calls",
        level=1,
        instruction=kit.say(_COMPLETED, "number", name=team, date=kit.day(day)),
        answer=len(counted),
        rule=NUMBER,
        sources=kit.ends(counted),
        needs=("agents",),
        days=reckon.files_of(world, window),
        plan=Plan(counting_plan(kit, calls, ("N1", "N2", "N3", "N4")), "$n"),
    )


_FIRST = (
    "when was the first attempt at {deploys} by {agent} on {date}, local time, and what is its {trace}?",
    "find the first attempt at {deploys} by {agent} on the local day {date}: its local time and its {trace}.",
    "on {date} (local day), what was the first event among the {deploys} of {agent}? Local time and {trace}.",
    "{agent}, local date {date}: local time and {trace} of the earliest event that belongs to its {deploys}.",
)


def first_local(kit: Kit) -> Draft:
    """Level 2: the first event of a local day, which lies on another UTC day or after one that does."""
    world, theme = kit.world, kit.theme
    agents = sorted(world.counted)
    kit.rng.shuffle(agents)
    choices = [(agent, day) for agent in agents for day in range(1, 6)]

    def first(agent: str, day: int, *, local: bool) -> Call | None:
        window = reckon.day_window(theme, world.start, day, local=local)
        events = (e for e in world.events if e.agent == agent and e.action == "deploy")
        inside = [event for event in events if window[0] <= event.when < window[1]]
        return (inside[0],) if inside else None

    def telling(choice: tuple[str, int]) -> bool:
        local = first(*choice, local=True)
        return local is not None and local != first(*choice, local=False)

    agent, day = next((choice for choice in choices if telling(choice)), choices[0])
    call = first(agent, day, local=True)
    assert call is not None
    event = call[0]
    window = reckon.day_window(theme, world.start, day, local=True)
    since, until = (reckon.iso(moment, style="").replace("T", " ") for moment in window)
    shift = f"INTERVAL {theme.offset_hours} HOUR"
    query = (
        f"SELECT trace, strftime(time + {shift}, '%H:%M:%S') AS local_time, _path, _line FROM events "
        f"WHERE agent = {text(agent)} AND action = {text(theme.actions['deploy'])} "
        f"AND time >= TIMESTAMP '{since}' AND time < TIMESTAMP '{until}' ORDER BY time LIMIT 1"
    )
    what = '"trace" (text) and "local_time" (HH:MM:SS)'
    return Draft(
        family="first_local",
        level=2,
        instruction=kit.say(_FIRST, "object", what, agent=agent, date=kit.day(day)),
        answer={"trace": event.trace, "local_time": reckon.iso(event.when, hours=theme.offset_hours)[11:19]},
        rule=AnswerRule(Compare.OBJECT),
        sources=[kit.line(event)],
        days=reckon.files_of(world, window),
        plan=Plan(
            (
                kit.rule_step("definitions", "D7"),
                kit.sql(query, name="first", shape="object", cite="all"),
            ),
            {"trace": "$first.trace", "local_time": "$first.local_time"},
        ),
    )


_RATE = (
    "what was the failure rate of the {deploys} of the {team} {name} on {date}, in percent?",
    "give the failure rate, in percent, of {deploys} by the {team} {name} on {date}.",
    "how large was the share of failures among the {deploys} of the {team} {name} on {date} (percent)?",
    "{team} {name}, {date}: which percentage of its {deploys} failed?",
)


def rate(kit: Kit) -> Draft:
    """Level 2: a share of failures, rounded as the rules say."""
    world, theme = kit.world, kit.theme
    choices = [(team.name, day) for team in world.teams for day in range(1, 6)]
    kit.rng.shuffle(choices)

    def found(choice: tuple[str, int]) -> list[Call]:
        window = reckon.day_window(theme, world.start, choice[1])
        return reckon.calls(theme, world.events, world.members(choice[0]), "deploy", window)

    def telling(choice: tuple[str, int]) -> bool:
        calls = found(choice)
        failed = sum(call[-1].status == "failed" for call in calls)
        return len(calls) >= 4 and 0 < failed < len(calls)

    team, day = next(choice for choice in choices if telling(choice))
    counted = found((team, day))
    window = reckon.day_window(theme, world.start, day)
    calls = calls_sql(kit, "deploy", window, members_sql(kit, team))
    # Integer arithmetic: a decimal half must not depend on how a float came out.
    failed, scale = f"count(*) FILTER (ended = {text(theme.statuses['failed'])})", 10**theme.rules.rate_digits
    whole = (
        f"(100 * {scale} * {failed}) // count(*)"
        if theme.rules.rate_down
        else f"(2 * 100 * {scale} * {failed} + count(*)) // (2 * count(*))"
    )
    query = f"SELECT ({whole}) / {scale} FROM ({calls})"
    return Draft(
        family="rate",
        level=2,
        instruction=kit.say(_RATE, "number", name=team, date=kit.day(day)),
        answer=reckon.failure_rate(theme, counted),
        rule=AnswerRule(Compare.NUMBER, tolerance=0.001),
        sources=kit.ends(counted),
        needs=("agents",),
        days=reckon.files_of(world, window),
        plan=Plan(
            (
                *(kit.rule_step("counting", rule) for rule in ("N1", "N2", "N4", "N5")),
                kit.sql(query, "agents", name="rate", shape="value"),
                ends_step(kit, calls),
            ),
            "$rate",
        ),
    )


_ACROSS = (
    "how many {exports} were completed between {since} and {until}, over all {units}?",
    "count all completed {exports} from {since} (included) to {until} (not included).",
    "between {since} and {until}, what was the number of completed {exports} of all {units} together?",
    "take all {units} together: how many {exports} did they complete from {since} until {until}?",
)


def across_rotation(kit: Kit) -> Draft:
    """Level 3: a window across the rotation, where archive (local time) and first daily file overlap."""
    world, theme = kit.world, kit.theme
    window = (world.start - kit.rng.randint(2, 6) * HOUR, world.start + kit.rng.randint(1, 4) * HOUR)
    events = sorted({*world.archived, *world.events})
    counted = reckon.completed(theme, events, world.counted, "export", window)
    since, until = (f"{reckon.iso(moment)[:16].replace('T', ' ')} UTC" for moment in window)
    calls = calls_sql(kit, "export", window, members_sql(kit, None))
    return Draft(
        family="across_rotation",
        level=3,
        instruction=kit.say(_ACROSS, "number", since=since, until=until),
        answer=len(counted),
        rule=NUMBER,
        sources=kit.ends(counted),
        needs=("agents",),
        days=(0,),
        archive=True,
        plan=Plan(counting_plan(kit, calls, ("N1", "N2", "N3", "N6")), "$n"),
    )


_RANKING = (
    "which three {units} completed the most {exports} from {first} to {last} (both days included)?",
    "rank the {units} by completed {exports}, {first} to {last}, both included; name the top three.",
    "name the three {units} with the highest number of completed {exports}, {first} through {last}.",
    "from {first} through {last}: who are the top three {units} by completed {exports}?",
)


def ranking(kit: Kit) -> Draft:
    """Level 2: the three agents with the most calls; ties go by id."""
    world, theme = kit.world, kit.theme
    day = kit.rng.randint(1, 3)
    window = (
        reckon.day_window(theme, world.start, day)[0],
        reckon.day_window(theme, world.start, day + 2)[1],
    )
    counted = reckon.completed(theme, world.events, world.counted, "export", window)
    numbers: dict[str, int] = {}
    for call in counted:
        numbers[call[0].agent] = numbers.get(call[0].agent, 0) + 1
    top = sorted(numbers, key=lambda agent: (-numbers[agent], agent))[:3]
    calls = calls_sql(kit, "export", window, members_sql(kit, None))
    query = (
        f"SELECT agent FROM ({calls}) WHERE {well(kit)} GROUP BY agent ORDER BY count(*) DESC, agent LIMIT 3"
    )
    return Draft(
        family="ranking",
        level=2,
        instruction=kit.say(
            _RANKING,
            "ordered",
            "three ids, the highest number first",
            first=kit.day(day),
            last=kit.day(day + 2),
        ),
        answer=[*top],
        rule=ORDERED,
        sources=kit.ends(counted),
        needs=("agents",),
        days=reckon.files_of(world, window),
        plan=Plan(
            (
                *(kit.rule_step("counting", rule) for rule in ("N1", "N2", "N3", "N4", "N8")),
                kit.sql(query, "agents", name="top", shape="list"),
                ends_step(kit, calls, well(kit)),
            ),
            "$top",
        ),
    )
