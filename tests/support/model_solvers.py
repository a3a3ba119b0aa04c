"""Solvers that ask a model, for tests with the stand-in."""

from __future__ import annotations

from shared.errors import ToolError, Unavailable
from workers.api import CapReached, Solution, Task, TaskContext, user
from workers.solvers.agent import vision

SETTING = ",".join(
    f"{name.lower()}=tests.support.model_solvers:{name}" for name in ("Asking", "Looking", "Undaunted")
)

_FIELDS = {"outcome": {}, "answer": {}, "sources": {}, "effects": {}}


class Asking:
    """Submits the finished answer that the stand-in knows, and nothing once a cap is reached."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        assert context.model is not None
        schema = {"type": "object", "properties": _FIELDS}
        try:
            reply = context.model.chat(
                [user(task.instruction)], schema=schema, max_tokens=100, label="answer"
            )
        except CapReached:
            return Solution(answer=None)
        return Solution.model_validate(reply.parsed)


class Undaunted:
    """Answers how many seconds are left when the model has not answered."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        assert context.model is not None
        try:
            context.model.chat([user(task.instruction)])
        except Unavailable:
            return Solution(answer=context.deadline.left())
        return Solution(answer="it did answer")


class Looking:
    """Answers with what `agent` sees in the first image of the task's files, or with why nobody looks."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        assert context.workspace is not None
        path = next(path for path in context.workspace.paths() if path.endswith((".png", ".jpg")))
        try:
            return Solution(answer=vision.look(path, context))
        except ToolError as error:
            return Solution(outcome="NEEDS_CLARIFICATION", answer=str(error))
