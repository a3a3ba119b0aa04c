"""Every answer, outcome, effect and citation follows from instruction and bytes.

The whole proof (100 seeds, 3 variations, both themes) takes minutes: ``pytest -m optin`` on this file, or
``python -m tests.integration.emulators.arena.scenario.test_derivable [SEEDS VARIATIONS]``.
"""

from __future__ import annotations

import sys

import pytest

from emulators.arena.scenario import build, effects, scoring
from emulators.arena.scenario.themes import THEMES
from tests.integration.emulators.arena.scenario.independent.solve import solve

EACH_THEME = pytest.mark.parametrize("theme", sorted(THEMES))


def shortfalls(theme: str, seed: int, variation: int) -> list[str]:
    """What the independent solver gets wrong in a scenario, or what it cites beyond need."""
    scenario = build(theme, seed, variation)
    wrong = []
    for task in scenario.tasks:
        found = solve(task.instruction, {path: scenario.blobs[sha] for path, sha in task.files.items()})
        state = effects.TaskState.initial(scenario, task)
        for effect in found.effects:
            effects.apply(effect.tool, effect.args, state)
        grade = scoring.grade(task, found.outcome, found.answer, found.sources, state.done)
        if grade.score != 1 or len(found.sources) != len(task.expected_sources):
            wrong.append(
                f"{theme}/{seed}/{variation} {task.task_id} {task.family}: {task.instruction} {grade}"
            )
    return wrong


@EACH_THEME
@pytest.mark.parametrize("seed", [11, 2**31 - 1])
@pytest.mark.parametrize("variation", [1, 2])
def test_the_independent_solver_derives_everything(theme: str, seed: int, variation: int) -> None:
    assert shortfalls(theme, seed, variation) == []


@pytest.mark.optin
@pytest.mark.timeout(3_600)
@EACH_THEME
def test_the_independent_solver_derives_a_hundred_seeds_in_three_variations(theme: str) -> None:
    for seed in range(100):
        answers = set()
        for variation in range(1, 4):
            assert shortfalls(theme, seed, variation) == []
            answers.add(repr([task.expected_answer for task in build(theme, seed, variation).tasks]))
        assert len(answers) == 1


if __name__ == "__main__":
    seeds, variations = (int(argument) for argument in (sys.argv[1:] or ["100", "3"]))
    failed = tasks = 0
    for name in sorted(THEMES):
        for seed in range(seeds):
            for variation in range(1, variations + 1):
                missing = shortfalls(name, seed, variation)
                failed, tasks = failed + len(missing), tasks + 30
                print("\n".join(missing), end="\n" if missing else "")
            print(f"{name} {seed}: {tasks - failed} of {tasks} tasks so far", file=sys.stderr)
    print(f"{tasks - failed} of {tasks} tasks derived in full")
    sys.exit(1 if failed else 0)
