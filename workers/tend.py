"""Keeps the ledger moving when nobody else does: a thread of every worker, at work on one at a time.

Each step reads the ledger and is safe to repeat, so it does not matter who tends, or that it changes hands.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import structlog

from shared.pool.dispatch import send_round
from shared.pool.jobs import QUEUE_FINAL, QUEUE_SOLVE
from shared.pool.pool import Pool

TENDING_SECONDS = 3.0
"""How long a silent tender keeps the others from tending."""

STALE_SECONDS = 10.0
"""A sent job that nobody took for so long may be lost."""

SWEEP_SECONDS = 10.0
"""Pause between two looks at what is merely untidy: silent workers, archived runs."""

log = structlog.get_logger(__name__)


class Tender:
    """The tending of one process.

    Args:
        pool: what is tended.
        owner: names this process; one owner tends at a time.
        lease_seconds: a wait for Redis that takes a third of it was an outage: leases could not be renewed.
        clock: monotonic seconds; tests inject their own.
    """

    def __init__(
        self, pool: Pool, owner: str, lease_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pool = pool
        self._owner = owner
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._grace_until = -math.inf
        self._swept = -math.inf

    def round(self) -> bool:
        """Tend once, if it is this process's turn. Returns whether it was.

        Raises:
            Unavailable: Redis or the broker is away; the next round goes on.
        """
        started = self._clock()
        try:
            mine = self._pool.ledger.take_tending(self._owner, TENDING_SECONDS)
        finally:
            now = self._clock()
            if now - started > self._lease_seconds / 3:
                self._grace_until = now + self._lease_seconds
        if mine:
            self._tend(now)
        return mine

    def _tend(self, now: float) -> None:
        ledger = self._pool.ledger
        grace = now < self._grace_until
        self._grace_until = -math.inf
        for ref, task_id, status in ledger.expire_leases(grace):
            log.warning("lease_expired", run=str(ref), task=task_id, status=status)
        ledger.wake_due()
        self._resend_lost()
        send_round(ledger, self._pool.jobs, self._pool.fleet)
        for ref in ledger.finishing():
            if (state := ledger.run(ref)) is not None:
                self._pool.jobs.finish(ref, state.run.kind)
        if now - self._swept >= SWEEP_SECONDS:
            self._swept = now
            self._pool.fleet.sweep()
            for state in ledger.runs():
                if state.archived:
                    ledger.remove(state.ref)

    def _resend_lost(self) -> None:
        """Send jobs again that are old, as many as the broker's queues are shorter than the ledger says."""
        ledger, jobs = self._pool.ledger, self._pool.jobs
        stale = ledger.stale_sent(STALE_SECONDS)
        if not stale:
            return
        missing = ledger.sent() - jobs.waiting(QUEUE_SOLVE) - jobs.waiting(QUEUE_FINAL)
        for ref, task_id in stale[: max(0, missing)]:
            log.warning("job_lost", run=str(ref), task=task_id)
            ledger.resend(ref, task_id)
