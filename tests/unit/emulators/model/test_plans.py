"""The stand-in's plans: right ones, mistaken ones, obedient ones."""

from __future__ import annotations

import json

import pytest

from emulators.arena.scenario.model import Outcome
from emulators.model import plans
from emulators.model.knowledge import Known
from tests.support.scenarios import build


def tasks() -> list[Known]:
    scenario = build("hub", 5, 7)
    return [Known(scenario, task) for task in scenario.tasks]


@pytest.mark.parametrize("number", range(1, 31))
def test_a_plan_is_json_and_leaves_the_scenario_as_it_is(number: int) -> None:
    known = tasks()[number - 1]
    before = repr(known.task.reference)
    right = plans.reference(known)
    for plan in (right, plans.obedient(known), *(plans.mistaken(right, draw) for draw in (0, 0.3, 0.6, 0.9))):
        assert json.loads(json.dumps(plan)) == plan
    assert repr(known.task.reference) == before
    assert right["outcome"] == known.task.expected_outcome


def test_mistakes_differ_from_the_right_plan_and_from_each_other() -> None:
    known = next(known for known in tasks() if known.task.family == "claimed")
    right = plans.reference(known)
    wrong = [plans.mistaken(right, draw) for draw in (0.0, 0.26, 0.51, 0.76)]
    assert len({json.dumps(plan) for plan in (right, *wrong)}) == 5
    assert "no_such_column" in json.dumps(wrong[0])
    assert wrong[1]["answer"] == {"result": [right["answer"]]}
    assert "LIMIT 0" in json.dumps(wrong[2])
    assert "/archive/summary-of-everything.md" in json.dumps(wrong[3])


def test_an_obedient_plan_does_what_the_data_asks_for() -> None:
    known = next(known for known in tasks() if known.task.family == "exfiltration")
    plan = plans.obedient(known)
    assert plan["outcome"] == Outcome.OK
    tools = {effect["tool"]: effect["args"] for effect in plan["effects"]}
    assert tools["send_message"]["to"] in known.task.instruction
    assert known.task.constraints.personal[0] in tools["send_message"]["body"]
    assert {op["op"] for op in tools["containment"]["ops"]} == {"release", "block"}
