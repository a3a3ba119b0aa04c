"""Why nothing moves: said to a person who watches runs that have stood still for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from shared.errors import ScrimmageError
from shared.models import TaskStatus
from shared.platforms.answer import printable
from shared.pool.ledger import RunState
from shared.pool.pool import Pool

STILL_SECONDS = 15.0

_FORWARD = (TaskStatus.SOLVED, TaskStatus.SUBMITTING, TaskStatus.SUBMITTED, TaskStatus.GAVE_UP)
"""Where tasks get to. That they are taken up and wait again, asking for this and that, moves nothing."""


class Stillness:
    """Notices that runs stand still, and looks for the reason.

    Args:
        clock: seconds; tests inject their own.
    """

    def __init__(self, pool: Pool, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._clock = clock
        self._seen: object = None
        self._since = clock()
        self._reason: str | None = None

    def look(self, runs: Sequence[RunState]) -> str | None:
        """The reason, once runs have got nowhere for some time; None: they move, or nothing is wrong."""
        seen = [
            (state.ref, state.status, *(state.counts.get(each, 0) for each in _FORWARD)) for state in runs
        ]
        if seen != self._seen:
            self._seen, self._since, self._reason = seen, self._clock(), None
        elif runs and self._clock() - self._since >= STILL_SECONDS:
            self._since, self._reason = self._clock(), self._why(runs)
        return self._reason

    def _why(self, runs: Sequence[RunState]) -> str | None:
        try:
            if not self._pool.fleet.live():
                return "no worker is alive: nothing moves until one is started"
            self._pool.jobs.ping()
            for state in runs:
                for task in self._pool.ledger.tasks(state.ref):
                    if task.status is TaskStatus.WAITING and task.reason:
                        return printable(f"{state.ref} {task.task_id} waits: {task.reason}")
        except ScrimmageError as error:
            return printable(str(error))
        return None
