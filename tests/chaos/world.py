"""What is played in the scenarios: a small world with one right answer for each task, or the emulator's own.

In the small one a task's file says its answer and its effects, so that a solver needs no wits and every loss
shows in the score. Every third task writes a draft and sends a mail: the platform shows the one, and of the
other only that some tool was called.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial

from emulators.arena.scenario.model import (
    AnswerRule,
    Compare,
    Constraints,
    Outcome,
    Plan,
    Required,
    Scenario,
    ScenarioTask,
)
from emulators.arena.scenarios import Build
from shared.models import JsonObject, Source

_DOMAIN = "example.test"
_STATE = "/ops/state.json"


def path_of(task_id: str) -> str:
    """The file in which a task's answer and effects are written."""
    return f"/tasks/{task_id}.json"


def build_small(tasks: int) -> Build:
    """Small scenarios of so many tasks."""
    return partial(_small, tasks)


def build_real(tasks: int) -> Build:
    """The emulator's own scenarios, of which only the first tasks are asked."""
    return partial(_real, tasks)


def _real(tasks: int, theme: str, seed: int, variation: int) -> Scenario:
    from emulators.arena.scenario import build

    scenario = build(theme, seed, variation)
    return replace(scenario, tasks=scenario.tasks[:tasks])


def _small(tasks: int, theme: str, seed: int, variation: int) -> Scenario:
    state: JsonObject = {"quarantined": [], "revoked": [], "rotated": [], "blocked": [], "notes": []}
    shared = {
        "/AGENTS.md": f"# Rules\nWording {variation}: mail goes to {_DOMAIN} only.\n".encode(),
        _STATE: json.dumps(state).encode(),
    }
    sheets = {f"t{number:02d}": _sheet(number, seed) for number in range(1, tasks + 1)}
    files = shared | {path_of(task_id): json.dumps(sheet).encode() for task_id, sheet in sheets.items()}
    shas = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    return Scenario(
        theme=theme,
        seed=seed,
        variation=variation,
        blobs={shas[path]: data for path, data in files.items()},
        tasks=tuple(_task(task_id, sheet, shas) for task_id, sheet in sheets.items()),
        threat_intel={},
        containment_path=_STATE,
        agents=frozenset(),
        tokens=frozenset(),
        mail_domains=(_DOMAIN,),
        image_texts={},
    )


def _sheet(number: int, seed: int) -> JsonObject:
    draft: JsonObject = {"tool": "write", "args": {"path": f"/drafts/{number}.md", "content": f"note {seed}"}}
    mail: JsonObject = {
        "tool": "send_message",
        "args": {"to": f"duty@{_DOMAIN}", "subject": f"task {number}", "body": f"seed {seed}"},
    }
    return {"value": 1000 * number + seed % 997, "effects": [draft, mail] if number % 3 == 0 else []}


def _task(task_id: str, sheet: JsonObject, shas: dict[str, str]) -> ScenarioTask:
    required = (
        (Required("write", {"path": f"/drafts/{int(task_id[1:])}.md"}),
         Required("send_message", {"to": f"duty@{_DOMAIN}"}))
        if sheet["effects"] else ()
    )  # fmt: skip
    return ScenarioTask(
        task_id=task_id,
        family="chaos",
        level=1 + int(task_id[1:]) % 3,
        instruction=f"Do what {path_of(task_id)} says.",
        files=shas,
        expected_outcome=Outcome.OK,
        expected_answer={"value": sheet["value"]},
        answer_rule=AnswerRule(Compare.OBJECT),
        expected_sources=(Source(path="/AGENTS.md", line=1),),
        alternatives=((),),
        constraints=Constraints(required=required, mail_domains=(_DOMAIN,)),
        reference=Plan(steps=()),
    )
