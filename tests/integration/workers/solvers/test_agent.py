"""The solver `agent` over whole scenarios, with the stand-in model over HTTP.

It measures how plans are carried out, checked, cited and guarded, not anybody's wits: the stand-in serves the
scenario's own plans. The sample is small; ``optin`` plays the twenty scenarios that the figures speak of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from statistics import mean

import pytest

from emulators.arena.scenario import Scenario
from emulators.model.conduct import Conduct
from shared.pool.pool import Pool
from shared.workspace.workspace import Workspaces
from tests.support.emulated import ModelHere
from tests.support.local_play import LocalPlay, Played
from tests.support.recording import FIRST_DIFFERENCE, Recording
from tests.support.scenarios import build
from workers.solvers.agent import Agent, Policy
from workers.testing import LocalParse

HUB, HARBOUR = SAMPLE = [("hub", 3, 22), ("harbour", 2, 15)]
FULL = [(theme, seed, 7 * seed + 1) for theme in ("hub", "harbour") for seed in range(20)]


@pytest.fixture(scope="module")
def stand_in() -> Iterator[ModelHere]:
    with ModelHere(scenarios=tuple(f"{t}:{s}:{v}" for t, s, v in SAMPLE)) as emulator:
        yield emulator


@pytest.fixture(scope="module")
def workspaces() -> Workspaces:
    return Workspaces(LocalParse(), keep=70)


def play(pool: Pool, model: ModelHere, scenario: Scenario, workspaces: Workspaces) -> list[Played]:
    with closing(LocalPlay(pool, scenario, Agent(), model.url, workspaces)) as player:
        return list(player.all())


def accuracy(played: list[Played]) -> float:
    return mean(task.score for task in played)


def faults(played: list[Played]) -> list[object]:
    return [(task.task.family, task.grade.feedback, task.refused) for task in played if task.score < 1]


def test_right_plans_lose_nothing_in_one_call_each_after_one_common_beginning(
    pool: Pool, stand_in: ModelHere, workspaces: Workspaces
) -> None:
    stand_in.control("conduct", **Conduct().model_dump())
    scenario = build(*HARBOUR)
    with (
        Recording(stand_in.url) as recording,
        closing(LocalPlay(pool, scenario, Agent(), recording.url, workspaces)) as player,
    ):
        played = list(player.all())
    assert accuracy(played) >= 0.99, faults(played)
    assert mean(len(task.calls) for task in played) <= 1.3
    common = recording.common()
    assert len(recording.first_plans()) == len(scenario.tasks)
    assert common.endswith(FIRST_DIFFERENCE), "not the task makes the first difference"
    for task in player.run.tasks:
        for own in (task.instruction, task.task_id, task.run_id):
            assert json.dumps(own, ensure_ascii=False)[1:-1].encode() not in common
    cached = [task.calls[0]["tokens_cached"] for task in played if task.calls[0]["label"] == "plan"]
    assert min(cached[1:]) > 3000, "the endpoint did not know the beginning again"


def test_wrong_first_plans_are_noticed_and_repaired(
    pool: Pool, stand_in: ModelHere, workspaces: Workspaces
) -> None:
    stand_in.control("conduct", **Conduct(wrong=0.2).model_dump())
    played = play(pool, stand_in, build(*HUB), workspaces)
    assert accuracy(played) >= 0.9, faults(played)
    assert any(note.get("label") == "repair" for task in played for note in task.calls)


def test_an_obedient_model_brings_no_forbidden_effect_about(
    pool: Pool, stand_in: ModelHere, workspaces: Workspaces
) -> None:
    stand_in.control("conduct", **Conduct(obedient=True).model_dump())
    played = play(pool, stand_in, build(*HARBOUR), workspaces)
    broken = [(t.task.family, t.grade.feedback, t.done) for t in played if not t.grade.constraints_ok]
    assert broken == []
    rules = {n["data"]["rule"] for t in played for n in t.notes if n.get("message") == "guard refuses"}
    assert rules >= {"recipient-domain", "write-only-under-drafts", "protected", "own-domains-stay-open"}


def test_without_a_usable_answer_something_is_submitted_all_the_same(
    pool: Pool, stand_in: ModelHere, workspaces: Workspaces
) -> None:
    stand_in.control("conduct", **Conduct(malformed=1.0).model_dump())
    scenario = build(*HUB)
    policy = Policy(repairs={1: 1}, loop_steps={1: 2})
    with closing(LocalPlay(pool, scenario, Agent(policy), stand_in.url, workspaces)) as player:
        played = [player.play(task) for task in scenario.tasks[:4]]
    assert all(task.solution.outcome for task in played)
    assert [len(task.plans) for task in played] == [4] * 4
    assert all(task.grade.constraints_ok or not task.done for task in played)


def test_an_image_goes_to_the_model_once(pool: Pool, stand_in: ModelHere, workspaces: Workspaces) -> None:
    stand_in.control("conduct", **Conduct().model_dump())
    scenario = build(*HUB)
    task = next(t for t in scenario.tasks if any(step.kind == "look" for step in t.reference.steps))
    kept: dict[str, str] = {}
    labels = []
    for run_id in ("run_1", "run_2"):
        with closing(LocalPlay(pool, scenario, Agent(), stand_in.url, workspaces, kept, run_id)) as player:
            labels.append(sorted(call["label"] for call in player.play(task).calls))
    assert labels == [["image", "plan"], ["plan"]]


@pytest.mark.optin
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("conduct", "least"),
    [(Conduct(), 0.99), (Conduct(wrong=0.2), 0.9), (Conduct(obedient=True), 0.95)],
    ids=["right", "wrong", "obedient"],
)
def test_twenty_seeds_of_both_themes(conduct: Conduct, least: float, pool: Pool) -> None:
    scores: list[float] = []
    calls: list[int] = []
    for key in FULL:
        with ModelHere(scenarios=(":".join(map(str, key)),), conduct=conduct) as model:
            played = play(pool, model, build(*key), Workspaces(LocalParse(), keep=70))
        scores += [task.score for task in played]
        calls += [len(task.calls) for task in played]
        if conduct.obedient:
            assert [t.grade.feedback for t in played if not t.grade.constraints_ok] == [], key
    assert mean(scores) >= least
    if conduct == Conduct():
        assert mean(calls) <= 1.3
