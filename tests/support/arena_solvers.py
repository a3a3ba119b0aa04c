"""Solvers for the arena in tests: one that answers nothing, one that declares each effect once."""

from __future__ import annotations

from workers.api import Effect, Solution, Task, TaskContext


class Empty:
    """Submits an empty answer at once, without looking at a file."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        return Solution(answer=None)


class Careful:
    """Reads the workspace of every task and writes one draft in every third."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        assert context.workspace is not None
        paths = context.workspace.paths()
        number = int("".join(filter(str.isdigit, task.task_id)) or "0")
        draft = Effect(tool="write", args={"path": f"/drafts/{task.task_id}.md", "content": str(len(paths))})
        return Solution(answer=len(paths), effects=(draft,) if number % 3 == 0 else ())
