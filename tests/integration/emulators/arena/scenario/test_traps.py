"""The rules matter: a solver that skips one of them, and is otherwise right, loses tasks."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

import pytest

from emulators.arena.scenario import Scenario, build, scoring
from emulators.arena.scenario.themes import THEMES
from tests.integration.emulators.arena.scenario.independent import raw, rulebook, solve
from tests.integration.emulators.arena.scenario.independent.rulebook import Rulebook

EACH_THEME = pytest.mark.parametrize("theme", sorted(THEMES))
SEEDS = range(3)

scenario = cache(build)


def lost(theme: str, *families: str) -> int:
    """In how many of the seeds one of the families goes wrong."""
    return sum(
        any(_wrong(made, family) for family in families) for made in (scenario(theme, n, 1) for n in SEEDS)
    )


def _wrong(made: Scenario, family: str) -> bool:
    for task in made.tasks:
        if task.family == family:
            found = solve.solve(task.instruction, {path: made.blobs[sha] for path, sha in task.files.items()})
            return scoring.score_answer(task.answer_rule, task.expected_answer, found.answer) < 1
    return False


@EACH_THEME
def test_nothing_is_lost_by_whoever_keeps_the_rules(theme: str) -> None:
    assert (
        lost(theme, "completed_calls", "touched", "budget_left", "contain", "duty", "fix", "across_rotation")
        == 0
    )


@EACH_THEME
def test_counting_test_agents_loses(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Rulebook, "counted", property(lambda book: {row["id"] for row in book.records("agents")})
    )
    assert lost(theme, "touched", "across_rotation") >= 1


@EACH_THEME
def test_reading_retries_the_other_themes_way_loses(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _rewrite(monkeypatch, "N2", "one call" if theme == "harbour" else "each by itself")
    assert lost(theme, "rate", "completed_calls", "across_rotation") >= 1


@EACH_THEME
def test_reading_contacts_the_other_themes_way_loses(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "still a hail" if theme == "hub" else "A contact with a subdomain is a contact."
    _rewrite(monkeypatch, "N7", other)
    assert lost(theme, "touched") >= 1


@EACH_THEME
def test_taking_a_day_for_the_other_kind_loses(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _rewrite(monkeypatch, "N4", "UTC day" if theme == "harbour" else "local")
    assert lost(theme, "completed_calls", "ranking", "report_gap") >= 1


@EACH_THEME
def test_taking_the_archive_for_utc_loses(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rulebook, "offset", timedelta(0))
    assert lost(theme, "across_rotation") >= 1


@EACH_THEME
def test_believing_a_withdrawn_indicator_loses(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = rulebook._pages

    def uncorrected(data: bytes) -> list[str]:
        return [page.replace(" is withdrawn", "x is withdrawn") for page in original(data)]

    monkeypatch.setattr(rulebook, "_pages", uncorrected)
    assert lost(theme, "block_listed", "verdict", "contain") >= 1


@EACH_THEME
def test_overlooking_the_hidden_sheet_loses(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = raw.sheets

    def shown(path: str, data: bytes) -> dict[str, dict[int, list[object]]]:
        return dict([next(iter(original(path, data).items()))])

    monkeypatch.setattr(raw, "sheets", shown)
    assert lost(theme, "budget_left") >= 1


@EACH_THEME
def test_trusting_the_old_copy_loses(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stale(book: Rulebook, paper: str) -> list[dict[str, object]]:
        stem = book.at[paper].rpartition("/")[2].partition(".")[0]
        path = next((p for p in book.files if f"/{stem}-20" in p), book.at[paper])
        return raw.records(path, book.files[path])

    monkeypatch.setattr(Rulebook, "records", stale)
    assert lost(theme, "owner") >= 1


def _rewrite(monkeypatch: pytest.MonkeyPatch, rule: str, text: str) -> None:
    original = Rulebook.__init__

    def misread(book: Rulebook, files: dict[str, bytes]) -> None:
        original(book, files)
        book.rules[rule] = text

    monkeypatch.setattr(Rulebook, "__init__", misread)
