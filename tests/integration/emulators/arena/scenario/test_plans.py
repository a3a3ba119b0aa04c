"""Reference plans, carried out with the product's own tools, give the expected answers and sources."""

from __future__ import annotations

import pytest

from emulators.arena.scenario import build, effects, scoring
from shared.documents.document import Document
from tests.integration.emulators.arena.scenario.plans import Desk, carry_out


@pytest.mark.parametrize(("theme", "seed", "variation"), [("hub", 21, 3), ("harbour", 22, 4)])
def test_every_reference_plan_leads_to_a_perfect_score(theme: str, seed: int, variation: int) -> None:
    scenario = build(theme, seed, variation)
    parsed: dict[str, Document] = {}
    wrong = []
    for task in scenario.tasks:
        files = {path: scenario.blobs[sha] for path, sha in task.files.items()}
        desk = Desk(files, task.files, scenario.image_texts, scenario.containment_path, parsed)
        answer, sources = carry_out(task.reference, desk)
        state = effects.TaskState.initial(scenario, task)
        for effect in task.reference.effects:
            effects.apply(effect.tool, effect.args, state)
        grade = scoring.grade(task, task.expected_outcome, answer, sources, state.done)
        if grade.score != 1:
            wrong.append(f"{task.task_id} {task.family}: {answer} {grade}")
    assert wrong == []
