"""The workbooks: transfers and budget."""

from __future__ import annotations

import random
from datetime import timedelta

from emulators.arena.scenario.render.book import Cell, Formula, Sheet, column_letter, write_book
from emulators.arena.scenario.view import View


def write_transfers(view: View, rng: random.Random) -> None:
    """The transfers' workbook: a list under a title, and last year's list on a hidden sheet."""
    columns, state = view.theme.columns["transfers"], view.theme.states
    transfers = list(view.world.transfers)
    rng.shuffle(transfers)
    name = view.theme.words["transfers"]

    def rows(shift: int) -> list[tuple[Cell, ...]]:
        return [
            (
                transfer.id,
                transfer.day - timedelta(days=shift),
                transfer.team,
                transfer.amount + shift,
                transfer.approvals,
                state["void" if transfer.void else "booked"],
            )
            for transfer in transfers
        ]

    title: list[tuple[Cell, ...]] = [(f"{name.capitalize()} of {view.world.org}",), ()]
    title = title if rng.random() < 0.5 else []
    body = [*title, tuple(columns.values()), *rows(0)]
    for number, row in enumerate(body, start=1):
        view.rows["transfers", name, str(row[0]) if row else ""] = number
    old = [tuple(columns.values()), *((f"OLD-{row[0]}", *row[1:]) for row in rows(365)[:40])]
    sheets = [Sheet(name, tuple(body)), Sheet("last year", tuple(old), hidden=True)]
    view.put("transfers", write_book(sheets, "ods" if view.look.formats["transfers"] == "ods" else "xlsx"))


def write_budget(view: View, rng: random.Random) -> None:
    """The budget book: an overview under a merged header, and corrections on a hidden sheet."""
    columns = view.theme.columns["budget"]
    budgets = list(view.world.budgets)
    rng.shuffle(budgets)
    blank: list[tuple[Cell, ...]] = [()] * rng.randint(0, 2)
    overview: list[tuple[Cell, ...]] = [
        (f"{view.theme.words['budget'].capitalize()}, {view.world.org}", None, None, None, None, None),
        *blank,
        (None, None, "by month", None, None, None),
        tuple(columns[key] for key in ("team", "granted", "m1", "m2", "m3", "total")),
    ]
    merged = ((1, 1, 6), (len(overview) - 1, 3, 3))
    for budget in budgets:
        number = len(overview) + 1
        view.rows["budget", columns["sheet"], budget.team] = number
        total = Formula(f"SUM(C{number}:E{number})", sum(budget.spent))
        overview.append((budget.team, budget.granted, *budget.spent, total))
    first, last = len(overview) - len(budgets) + 1, len(overview)
    sums = [
        Formula(f"SUM({column_letter(place)}{first}:{column_letter(place)}{last})", value)
        for place, value in enumerate(
            (
                sum(budget.granted for budget in budgets),
                *(sum(budget.spent[month] for budget in budgets) for month in range(3)),
                sum(sum(budget.spent) for budget in budgets),
            ),
            start=2,
        )
    ]
    overview.append(("All", *sums))
    corrections: list[tuple[Cell, ...]] = [tuple(columns[key] for key in ("team", "correction", "reason"))]
    entries = [
        (budget.team, place, amount) for budget in budgets for place, amount in enumerate(budget.corrections)
    ]
    rng.shuffle(entries)
    for team, place, amount in entries:
        corrections.append((team, amount, rng.choice(("late invoice", "refund", "moved", "rounding"))))
        view.rows["budget", columns["corrections"], f"{team}#{place}"] = len(corrections)
    sheets = [
        Sheet(columns["sheet"], tuple(overview), merged=merged),
        Sheet(columns["corrections"], tuple(corrections), hidden=True),
        Sheet("remarks", (("Figures as of month's end.",), ("Rounded to whole euros.",))),
    ]
    view.put("budget", write_book(sheets, "ods" if view.look.formats["budget"] == "ods" else "xlsx"))
