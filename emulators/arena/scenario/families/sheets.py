"""Questions to spreadsheets: a hidden sheet, a merged header, a limit that stands in a letter."""

# ruff: noqa: S608 - queries of reference plans: data, made of names from this package
from __future__ import annotations

from emulators.arena.scenario.kit import NUMBER, Draft, Kit, text
from emulators.arena.scenario.model import AnswerRule, Compare, Plan, Step
from shared.models import Source

_BUDGET = (
    "what remains of the {budget} of the {team} {name}?",
    "how much of its {budget} does the {team} {name} have left?",
    "compute what is left of the {budget} of the {team} {name}, by the definitions.",
    "{name} ({team}): give the remainder of the {budget}.",
)


def budget_left(kit: Kit) -> Draft:
    """Level 2: a row under a merged header, and corrections on a hidden sheet."""
    budget = kit.rng.choice(kit.world.budgets)
    columns = kit.theme.columns["budget"]
    name = {key: f'"{value}"' for key, value in columns.items()}
    sheets = {
        "overview": ("budget", columns["sheet"]),
        "corrections": ("budget", columns["corrections"]),
    }
    spent = " + ".join(name[month] for month in ("m1", "m2", "m3"))
    query = (
        f"SELECT {name['granted']} - ({spent}) + (SELECT sum({name['correction']}) FROM corrections "
        f"WHERE {name['team']} = {text(budget.team)}) FROM overview "
        f"WHERE {name['team']} = {text(budget.team)}"
    )
    cite = " UNION ALL ".join(
        f"SELECT _path, _sheet, _row FROM {table} WHERE {name['team']} = {text(budget.team)}"
        for table in sheets
    )
    return Draft(
        family="budget_left",
        level=2,
        instruction=kit.say(_BUDGET, "number", name=budget.team),
        answer=budget.granted + sum(budget.corrections) - sum(budget.spent),
        rule=NUMBER,
        sources=[
            (kit.view.row("budget", columns["sheet"], budget.team),),
            *(
                (kit.view.row("budget", columns["corrections"], f"{budget.team}#{place}"),)
                for place in range(len(budget.corrections))
            ),
        ],
        needs=("budget",),
        plan=Plan(
            (
                kit.rule_step("definitions", "D9"),
                kit.sql(query, name="left", shape="value", sheets=sheets),
                kit.sql(cite, cite="all", sheets=sheets),
            ),
            "$left",
        ),
    )


_TRANSFERS = (
    "how many {transfers} of the {team} {name} lack the second approval they needed, and what is their sum?",
    "find the {transfers} of the {team} {name} with one approval where two were due: number and total.",
    "count and add up the {transfers} by the {team} {name} that broke the rule of two approvals.",
    "{name} ({team}): number and total of {transfers} that should have had two approvals and had one.",
)


def transfers_over(kit: Kit) -> Draft:
    """Level 2: a limit from a letter, applied to a list by a counting rule."""
    world, rules = kit.world, kit.theme.rules
    team = kit.rng.choice(world.teams).name
    found = [
        t
        for t in world.transfers
        if t.team == team
        and not t.void
        and t.approvals == 1
        and (t.amount > world.limit or (rules.limit_included and t.amount == world.limit))
    ]
    columns = kit.theme.columns["transfers"]
    name = {key: f'"{value}"' for key, value in columns.items()}
    sheet = kit.theme.words["transfers"]
    path = kit.path("transfers")
    where = (
        f"{name['team']} = {text(team)} AND {name['state']} <> {text(kit.theme.states['void'])} "
        f"AND {name['approvals']} = 1 AND {name['amount']} {'>=' if rules.limit_included else '>'} "
        "CAST(replace({$limit}, ',', '') AS BIGINT)"
    )
    sheets = {"transfers": ("transfers", sheet)}
    query = f"SELECT count(*) AS number, sum({name['amount']}) AS total FROM transfers WHERE {where}"
    rows = f"SELECT _path, _sheet, _row FROM transfers WHERE {where}"
    return Draft(
        family="transfers_over",
        level=2,
        instruction=kit.say(_TRANSFERS, "object", '"number" and "total"', name=team),
        answer={"number": len(found), "total": sum(transfer.amount for transfer in found)},
        rule=AnswerRule(Compare.OBJECT, keys={"number": NUMBER, "total": NUMBER}),
        sources=[
            (kit.view.page("circular", 2),),
            *(
                (kit.view.row("transfers", sheet, transfer.id), Source(path=path, record=transfer.id))
                for transfer in found
            ),
        ],
        needs=("transfers", "circular", "press"),
        plan=Plan(
            (
                kit.rule_step("counting", "N9"),
                Step(
                    "find",
                    {"path": kit.path("circular"), "pattern": r"limit in force is ([\d,]+\d)", "cite": True},
                    "limit",
                ),
                kit.sql(query, name="found", shape="object", sheets=sheets),
                kit.sql(rows, cite="all", sheets=sheets),
            ),
            {"number": "$found.number", "total": "$found.total"},
        ),
    )
