"""The leases that one worker process holds, and the one thread that renews them all.

A solve runs on a thread and a thread cannot be killed. So a lease is renewed only up to the task's own
deadline: from then on the task belongs to the pool again, whatever its thread does, and the thread counts as
stuck until it returns.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import structlog

from shared.deadline import Deadline
from shared.errors import LeaseLost, Unavailable
from shared.pool.ledger import Lease, Ledger, RunLease

T = TypeVar("T")

RUN_PART = 0.6
"""A run's lease lasts this part of a task's: less time until a dead drain is replaced."""

log = structlog.get_logger(__name__)


@dataclass(eq=False)
class Held:
    """A task's lease in use. The renewal thread sets ``over`` once the task is this worker's no more."""

    lease: Lease
    until: Deadline
    over: bool = False

    def check(self) -> None:
        """Raise LeaseLost where the task belongs to somebody else by now."""
        if self.over:
            raise LeaseLost(f"{self.lease.ref} {self.lease.task_id}: the lease is over")


class Leases:
    """All leases of this process.

    Args:
        ledger: renews them.
        seconds: how long a renewed lease lasts; renewed every third of it.
        stuck: called on the renewal thread, with the number of threads that did not return before their
            task's deadline, whenever there is one more.
    """

    def __init__(self, ledger: Ledger, seconds: float, stuck: Callable[[int], None]) -> None:
        self._ledger = ledger
        self._seconds = seconds
        self.run_seconds = seconds * RUN_PART
        self._on_stuck = stuck
        self._seen_stuck = 0
        self._tasks: set[Held] = set()
        self._runs: set[RunLease] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def hold(self, lease: Lease) -> Iterator[Held]:
        """Keep ``lease`` renewed while the block runs, at most until the task's deadline."""
        held = Held(lease, Deadline.after(lease.seconds_left))
        with self._held(self._tasks, held):
            yield held

    @contextmanager
    def hold_run(self, lease: RunLease) -> Iterator[None]:
        """Keep a run's lease renewed while the block runs."""
        with self._held(self._runs, lease):
            yield

    def live(self) -> int:
        """Jobs that are expected to return."""
        with self._lock:
            return len(self._runs) + sum(not held.until.passed for held in self._tasks)

    def stuck(self) -> int:
        """Solves that did not return before their task's deadline, and have not since."""
        with self._lock:
            return sum(held.until.passed for held in self._tasks)

    @contextmanager
    def _held(self, those: set[T], one: T) -> Iterator[None]:
        with self._lock:
            those.add(one)
            if self._thread is None:
                self._thread = threading.Thread(target=self._renew_forever, name="leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                those.discard(one)

    def _renew_forever(self) -> None:
        while True:
            time.sleep(self._seconds / 3)
            try:
                self._renew()
            except Unavailable as error:
                log.warning("leases_not_renewed", reason=str(error))
            except Exception:  # without this thread every task of the process would be lost
                log.exception("leases_not_renewed")

    def _renew(self) -> None:
        stuck = self.stuck()
        if stuck > self._seen_stuck:
            self._on_stuck(stuck)
        self._seen_stuck = stuck
        with self._lock:
            tasks = {held.lease: held for held in self._tasks if not held.over}
            runs = list(self._runs)
        for lease in self._ledger.renew_all(tasks, self._seconds):
            tasks[lease].over = True
        for run in runs:
            try:
                self._ledger.renew_run(run, self.run_seconds)
            except LeaseLost:
                log.info("run_lease_lost", run=str(run.ref))
