"""A scenario's tasks played by a solver in this process: real model calls, real grading, no workers around.

Documents are parsed here and kept by content, so that many scenarios can be played in little time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from emulators.arena.scenario import Scenario
from emulators.arena.scenario.effects import EFFECT_TOOLS, TaskState, apply, get_containment
from emulators.arena.scenario.model import ScenarioTask
from emulators.arena.scenario.scoring import grade
from shared.deadline import Deadline
from shared.models import Effect, Grade, JsonObject, Run, Solution, Task, ToolResult
from shared.pool.pool import Pool
from shared.workspace.workspace import Workspaces
from tests.support.ledger import lease, open_run
from tests.support.model import settings_for
from workers.context import Solver, TaskContext, Tools
from workers.desk import Desk
from workers.guard import Guard, HardRules
from workers.logs import Mask
from workers.model.models import Models
from workers.testing import LocalParse, UntestedTools
from workers.transcript import Transcript

SECONDS = 60.0


@dataclass(frozen=True)
class Played:
    """What became of one task.

    Args:
        done: the effects that the guard let through, carried out.
        refused: names of the guard's rules that held others back.
        notes: the transcript.
    """

    task: ScenarioTask
    solution: Solution
    grade: Grade
    done: tuple[Effect, ...]
    refused: tuple[str, ...]
    notes: tuple[dict[str, Any], ...]

    @property
    def score(self) -> float:
        return self.grade.score or 0.0

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The model's answers to this task."""
        return [note for note in self.notes if note["event"] == "model"]

    @property
    def plans(self) -> list[dict[str, Any]]:
        """The calls that were about plans: images are read once in the pool, for all tasks."""
        return [note for note in self.calls if note["label"] != "image"]


@dataclass
class LocalPlay:
    """Plays tasks of a scenario.

    Args:
        model_url: None: no model.
        kept: texts that are made once (``TaskContext.once``).
    """

    pool: Pool
    scenario: Scenario
    solver: Solver
    model_url: str | None
    workspaces: Workspaces = field(default_factory=lambda: Workspaces(LocalParse()))
    kept: dict[str, str] = field(default_factory=dict)
    run_id: str = ""

    def __post_init__(self) -> None:
        scenario = self.scenario
        self.run_id = self.run_id or f"run_{scenario.theme}_{scenario.seed}_{scenario.variation}"
        tasks = tuple(
            Task(run_id=self.run_id, task_id=t.task_id, instruction=t.instruction, level=t.level)
            for t in scenario.tasks
        )
        self.run = Run(platform="arena", run_id=self.run_id, theme=scenario.theme, tasks=tasks)
        open_run(self.pool.ledger, self.run)
        self.settings = settings_for(self.model_url or "http://127.0.0.1:9", model_timeout=SECONDS)
        self.models = Models(self.settings, self.pool)

    def close(self) -> None:
        self.models.close()

    def all(self) -> Iterator[Played]:
        return (self.play(task) for task in self.scenario.tasks)

    def play(self, task: ScenarioTask) -> Played:
        """Let the solver decide, carry out what the guard lets through, and grade it."""
        held = lease(self.pool.ledger, self.run.ref, task.task_id)
        transcript = Transcript(self.pool.transcripts, self.run.ref, task.task_id, 1, Mask.of(self.settings))
        context = self.context(task, transcript, lambda deadline: self.models.of(held, deadline, transcript))
        solution = self.solver.solve(held.task, context)
        transcript.flush()
        state = TaskState.initial(self.scenario, task)
        assert context.workspace is not None
        desk = Desk(context.workspace)
        guard = Guard(lambda: HardRules.of(desk))
        refused = []
        for effect in solution.effects:
            verdict = guard.check(effect)
            if verdict.allowed:
                apply(effect.tool, effect.args, state)
            else:
                refused.append(verdict.rule)
        done = tuple(state.done)
        sources = context.workspace.check_sources(solution.sources).sources
        return Played(
            task,
            solution,
            grade(task, solution.outcome, solution.answer, sources, done),
            done,
            tuple(refused),
            tuple(self.pool.transcripts.read(self.run.ref, task.task_id)),
        )

    def context(
        self, task: ScenarioTask, transcript: Transcript, model: Callable[[Deadline], Any] | None = None
    ) -> TaskContext:
        """What a solver is given for a task."""
        deadline = Deadline.after(SECONDS)
        load = self.scenario.blobs.__getitem__
        workspace = self.workspaces.open(task.files, load, deadline)
        everything = {path: sha for other in self.scenario.tasks for path, sha in other.files.items()}
        library = self.workspaces.open(everything, load, deadline)
        state = TaskState.initial(self.scenario, task)

        def remote(name: str, args: Mapping[str, JsonValue]) -> ToolResult:
            if name == "get_containment":
                return ToolResult(ok=True, result=get_containment(state))
            known = self.scenario.threat_intel.get(str(args.get("indicator", "")).lower())
            return ToolResult(ok=True, result=known) if known else ToolResult(ok=False, error="unknown")

        listed: dict[str, JsonObject] = {name: {"effect": True} for name in EFFECT_TOOLS}
        listed |= {"get_containment": {}, "threat_intel": {}}
        return TaskContext(
            tools=Tools(
                lambda: workspace,
                UntestedTools,
                frozenset(),
                lambda: listed,
                remote,
                transcript,
            ),
            workspace=lambda: workspace,
            model=(lambda: model(deadline)) if model and self.model_url else (lambda: None),
            deadline=deadline,
            transcript=transcript,
            library=lambda: library,
            once=self._once,
        )

    def _once(self, name: str, make: Callable[[], str]) -> str:
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]
