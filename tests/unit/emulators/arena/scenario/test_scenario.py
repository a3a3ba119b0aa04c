"""What every scenario holds, whatever its seed and variation."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache

import pytest

from emulators.arena.scenario import Scenario, build
from emulators.arena.scenario.documents import INJECTIONS
from emulators.arena.scenario.families import ALWAYS, SOMETIMES
from emulators.arena.scenario.model import Outcome
from emulators.arena.scenario.themes import THEMES
from shared.errors import UsageError

EACH_THEME = pytest.mark.parametrize("theme", sorted(THEMES))
scenario = cache(build)


def contents(made: Scenario) -> dict[str, bytes]:
    return {path: made.blobs[sha256] for task in made.tasks for path, sha256 in task.files.items()}


@EACH_THEME
def test_thirty_tasks_of_at_least_twenty_families_at_three_levels(theme: str) -> None:
    tasks = scenario(theme, 3, 1).tasks
    assert [task.task_id for task in tasks] == [f"t{number:02d}" for number in range(1, 31)]
    assert len({task.family for task in tasks}) >= 20
    levels = Counter(task.level for task in tasks)
    assert min(levels[1], levels[2], levels[3]) >= 4


@EACH_THEME
@pytest.mark.parametrize("seed", range(3))
def test_all_outcomes_effects_and_locators_occur(theme: str, seed: int) -> None:
    tasks = scenario(theme, seed, 1).tasks
    assert {task.expected_outcome for task in tasks} == set(Outcome)
    required = [need for task in tasks for need in task.constraints.required]
    assert {need.tool for need in required} == {"containment", "send_message", "write"}
    operations = {need.match["op"] for need in required if need.tool == "containment"}
    assert operations == {"quarantine", "release", "revoke", "rotate", "block", "note"}
    sources = [source for task in tasks for source in task.expected_sources]
    kinds = {frozenset(source.wire()) - {"path"} for source in sources}
    assert kinds >= {
        frozenset({"page"}),
        frozenset({"record"}),
        frozenset({"sheet", "row"}),
        frozenset({"paragraph"}),
        frozenset({"line"}),
        frozenset(),
    }


@EACH_THEME
def test_answers_never_depend_on_the_variation_and_files_always_do(theme: str) -> None:
    one, other = scenario(theme, 3, 1), scenario(theme, 3, 2)
    for task, again in zip(one.tasks, other.tasks, strict=True):
        told = (task.task_id, task.family, task.level, task.expected_outcome, task.expected_answer)
        assert told == (
            again.task_id,
            again.family,
            again.level,
            again.expected_outcome,
            again.expected_answer,
        )
        assert task.constraints == again.constraints
    assert set(contents(one)) != set(contents(other))
    assert not set(one.blobs) & {sha256 for sha256 in other.blobs if len(other.blobs[sha256]) > 3_000}


@EACH_THEME
def test_the_seed_moves_the_answers(theme: str) -> None:
    one = {task.family: task.expected_answer for task in scenario(theme, 3, 1).tasks}
    other = {task.family: task.expected_answer for task in scenario(theme, 4, 1).tasks}
    both = [family for family in one.keys() & other.keys() if one[family] is not None]
    assert sum(one[family] == other[family] for family in both) <= 4


@EACH_THEME
def test_each_family_speaks_in_at_least_four_wordings(theme: str) -> None:
    told: dict[str, set[str]] = {}
    for variation in range(1, 7):
        for task in scenario(theme, 3, variation).tasks:
            told.setdefault(task.family, set()).add(task.instruction)
    assert all(len(wordings) >= 4 for wordings in told.values())


@EACH_THEME
def test_a_scenario_is_large_messy_and_mostly_shared(theme: str) -> None:
    made = scenario(theme, 3, 1)
    distinct = sum(map(len, made.blobs.values()))
    total = sum(len(made.blobs[sha256]) for task in made.tasks for sha256 in task.files.values())
    assert 1.4e6 < distinct < 2.6e6
    assert 11e6 < total < 22e6
    files = contents(made)
    kinds = {path.rpartition(".")[2] for path in files}
    assert kinds >= {"md", "csv", "json", "jsonl", "xlsx", "ods", "pdf", "docx", "odt", "png", "jpg"}
    events = sum(data.count(b"\n") for path, data in files.items() if path.endswith(".jsonl"))
    assert events >= 6_000
    assert all("/AGENTS.md" in task.files for task in made.tasks)


@EACH_THEME
def test_log_lines_are_events_in_order_of_time(theme: str) -> None:
    files = contents(scenario(theme, 3, 1))
    when = THEMES[theme].fields["when"]
    for path, data in files.items():
        if path.endswith(".jsonl"):
            moments = [json.loads(line)[when] for line in data.decode().splitlines()]
            assert moments == sorted(moments)


@EACH_THEME
def test_injections_stand_in_files_and_in_the_feed(theme: str) -> None:
    made = scenario(theme, 3, 1)
    texts = [
        data.decode() for path, data in contents(made).items() if path.endswith((".md", ".txt", ".jsonl"))
    ]
    assert sum(any(injection in text for injection in INJECTIONS) for text in texts) >= 5
    assert any(answer["comment"] in INJECTIONS for answer in made.threat_intel.values())


@EACH_THEME
def test_operator_files_leave_no_blank_unfilled(theme: str) -> None:
    made = scenario(theme, 3, 1)
    guide = contents(made)["/AGENTS.md"].decode()
    assert "{" not in guide
    named = [line.split("`")[1] for line in guide.splitlines() if line.startswith("| ") and "`" in line]
    known = set(contents(made))
    assert all(path in known or any(other.startswith(path) for other in known) for path in named)


def test_the_themes_share_no_word_of_their_own() -> None:
    hub, harbour = (THEMES[name] for name in ("hub", "harbour"))
    for register in hub.columns:
        shared = set(hub.columns[register].values()) & set(harbour.columns[register].values())
        assert shared <= {"id"}
    assert not {path for paths in hub.paths.values() for path in paths} & {
        path for paths in harbour.paths.values() for path in paths
    }
    assert not set(hub.fields.values()) & set(harbour.fields.values())


def test_families_have_names_of_their_own() -> None:
    families = [family.__name__ for family in (*ALWAYS, *SOMETIMES)]
    assert len(set(families)) == len(families) == 35


def test_the_harbour_asks_for_every_family_in_sentences_of_its_own() -> None:
    phrases = THEMES["harbour"].phrases
    assert set(phrases) == {family.__name__ for family in (*ALWAYS, *SOMETIMES)}
    assert all(len(set(sentences)) >= 4 for sentences in phrases.values())


def test_an_unknown_theme_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown theme 'moon'; there are: hub, harbour"):
        build("moon", 1, 1)
