"""Solvers that ask a model, for tests with the stand-in."""

from __future__ import annotations

from workers.api import CapReached, Solution, Task, TaskContext, user

SETTING = "asking=tests.support.model_solvers:Asking"

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
