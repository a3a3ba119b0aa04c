"""The solver of the small world: reads its task's file, takes its time, asks the model once."""

from __future__ import annotations

import json
import os
import threading

from tests.chaos.world import path_of
from workers.api import Effect, Solution, Source, Task, TaskContext

SETTING = "steady=tests.chaos.solver:Steady"


class Steady:
    """Always right, and its answers say by which process. CHAOS_SECONDS says how long it takes."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        assert context.workspace is not None
        sheet = json.loads(context.workspace.bytes(path_of(task.task_id)))
        threading.Event().wait(min(context.deadline.left(), float(os.environ["CHAOS_SECONDS"])))
        if context.model is not None:
            words = f"{task.run_id} {task.task_id}"
            context.model.chat([{"role": "user", "content": words}], max_tokens=2000, label="ask")
        return Solution(
            answer={"value": sheet["value"], "by": os.getpid()},
            sources=(Source(path="/AGENTS.md", line=1),),
            effects=tuple(Effect.model_validate(effect) for effect in sheet["effects"]),
        )
