"""How a run that has a deadline spends its time: which tasks go first, and how much is kept for the end.

Ranks. Every task weighs the same in the score, so time goes first where most score is expected per second:
a task's worth is its chance to be solved divided by the seconds that it is expected to take. Both follow from
its level (Harness Arena Task API v1: "1 = straightforward, 2 = more hops and traps, 3 = hard").

The end. The last drain and the seal begin before the deadline by a slack for one lost answer, and for each
task not submitted yet by as long as a submission takes now (``ledger/run.lua``, ``margin``). Finalizers
measure that; until the first has, it is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable

from shared.models import Task

_CHANCES = {1: 0.9, 2: 0.7, 3: 0.5}
_SECONDS = {1: 20.0, 2: 45.0, 3: 90.0}
_UNKNOWN_LEVEL = 2

ASSUMED_SUBMIT = 0.25
"""Seconds that a submission is taken to last before one was measured."""

_SLACK, _SLACK_PART = 15.0, 0.1


def worth(level: int | None) -> float:
    """Expected score per second of a task; a level that is not known counts as a middle one."""
    known = level if level in _CHANCES else _UNKNOWN_LEVEL
    return _CHANCES[known] / _SECONDS[known]


def ranked(tasks: Iterable[Task]) -> list[str]:
    """Ids of tasks in the order in which they are handed out; equals stay as they were."""
    return [task.task_id for task in sorted(tasks, key=lambda task: -worth(task.level))]


def slack(seconds_left: float | None) -> float:
    """Seconds kept free at the end of a run, beside those for submissions; 0 without a deadline."""
    return 0.0 if seconds_left is None else min(_SLACK, _SLACK_PART * max(0.0, seconds_left))
