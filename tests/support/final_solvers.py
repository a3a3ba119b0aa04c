"""Solvers for final runs in tests: one that takes its time, one that never answers some of its tasks."""

from __future__ import annotations

import threading

from tests.support.arena_solvers import Careful
from workers.api import Solution, Task, TaskContext

SETTING = (
    "careful=tests.support.arena_solvers:Careful,unhurried=tests.support.final_solvers:Unhurried,"
    "reluctant=tests.support.final_solvers:Reluctant"
)


class Unhurried(Careful):
    """Takes 0.4 s more for each task than for the one before, then does what ``Careful`` does."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        threading.Event().wait(0.4 * _number(task))
        return super().solve(task, context)


class Reluctant(Careful):
    """Answers every third task a minute too late."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        if _number(task) % 3 == 1:
            threading.Event().wait(context.deadline.left() + 60.0)
        return super().solve(task, context)


def _number(task: Task) -> int:
    return int("".join(filter(str.isdigit, task.task_id)))
