"""Drains a run: submits what is solved, and seals the run when it is due.

Safe at any time and any number of times: a run lease lets one drain work at a time, and what a dead one left
in ``submitting`` is settled by a look at the platform. Sealing is the only step that cannot be taken back.
"""

from __future__ import annotations

import time

import structlog

from shared.deadline import Deadline
from shared.errors import (
    DeadlinePassed,
    LeaseLost,
    NotAuthorised,
    Refused,
    ScrimmageError,
    SettingsError,
    Unavailable,
)
from shared.models import Receipt, Run, RunStatus, TaskStatus
from shared.platforms.base import Platform
from shared.pool.jobs import FinishJob
from shared.pool.ledger import RunLease, RunState
from workers.worker import Worker

SUBMIT_SECONDS = 60.0
"""Longest time for one round of submissions; what is left then is drained by the next round."""

SEAL_SECONDS = 60.0
"""Longest time for one try to close a run, deadline or not: a late close does no harm."""

ASK_SECONDS = 5.0
"""Longest time for asking the platform whether a run's time is truly up."""

GIVE_UP_SECONDS = 900.0
"""A run that cannot be finished for so long after its time is up has failed."""

log = structlog.get_logger(__name__)


def finish(worker: Worker, job: FinishJob) -> None:
    """Drain one run, and seal it if it is due. Whatever comes in between, tend asks for the next drain."""
    lease = worker.pool.ledger.lease_run(job.ref, worker.owner(), worker.leases.run_seconds)
    if lease is None:
        log.info("nothing_to_drain", run=str(job.ref))
        return
    with worker.leases.hold_run(lease):
        drain = Drain(worker, lease)
        try:
            drain.run()
        except LeaseLost as error:
            log.info("run_lease_lost", run=str(job.ref), reason=str(error))
        except (DeadlinePassed, Refused, SettingsError, Unavailable) as error:
            drain.interrupt(error)


class Drain:
    """One run being drained under its lease."""

    def __init__(self, worker: Worker, lease: RunLease) -> None:
        self._worker = worker
        self._ledger = worker.pool.ledger
        self._lease = lease

    def run(self) -> None:
        """Go round until nothing new has come in, or the run is sealed."""
        again = True
        while again:
            state = self._ledger.run(self._lease.ref)
            if state is None or state.status.final:
                return
            platform = self._worker.platform(state.ref.platform)
            self._submit(platform, state.run)
            self._ask_for_time(platform, state.run)
            if self._ledger.due_to_seal(state.ref):
                self._seal(platform, state)
                return
            again = self._ledger.release_run(self._lease)

    def interrupt(self, error: ScrimmageError) -> None:
        """The drain cannot go on now.

        Who does not answer is asked again soon. Who says no, or a setting that is missing here, leaves the
        lease to run out: another worker may do better. Long after the run's time is up nobody will.
        """
        reason = str(error)
        state = self._ledger.run(self._lease.ref)
        if state is not None and state.now - state.deadline >= GIVE_UP_SECONDS:
            self._fail(f"the run could not be finished: {reason}")
            return
        log.warning("drain_waits", run=str(self._lease.ref), reason=reason)
        if isinstance(error, DeadlinePassed | Unavailable):
            self._ledger.release_run(self._lease)

    def _submit(self, platform: Platform, run: Run) -> None:
        deadline = Deadline.after(SUBMIT_SECONDS)
        waiting = self._ledger.unsubmitted(self._lease)
        doubtful = [task_id for task_id, (status, _) in waiting.items() if status is TaskStatus.SUBMITTING]
        if doubtful:
            view = platform.look(run, deadline)
            for task_id in doubtful:
                shown = view.tasks.get(task_id)
                if shown is not None and shown.submitted:
                    self._ledger.submitted(self._lease, Receipt(task_id=task_id, grade=shown.grade))
                    del waiting[task_id]
        if not waiting:
            return
        self._ledger.submitting(self._lease, list(waiting))
        solutions = {task_id: solution for task_id, (_, solution) in waiting.items()}
        began, receipts = time.monotonic(), 0
        try:
            for receipt in platform.submit(run, solutions, deadline):
                self._ledger.submitted(self._lease, receipt)
                receipts += 1
        finally:
            self._ledger.paced(self._lease, (time.monotonic() - began) / max(1, receipts))
        log.info("drained", run=str(self._lease.ref), tasks=len(solutions))

    def _ask_for_time(self, platform: Platform, run: Run) -> None:
        """Before a run is closed for want of time: is that the platform's view?

        Times in the ledger are Redis's, and whoever sets that clock forward would end a run that exists once.
        """
        if run.seconds_left is None or not self._ledger.out_of_time(run.ref):
            return
        try:
            left = platform.look(run, Deadline.after(ASK_SECONDS)).seconds_left
        except ScrimmageError as error:
            log.warning("time_not_confirmed", run=str(run.ref), reason=str(error))
            return
        if left is not None and self._ledger.prolong(run.ref, left):
            log.warning("prolonged", run=str(run.ref), seconds_left=round(left, 1))

    def _seal(self, platform: Platform, state: RunState) -> None:
        try:
            scorecard = platform.finish(state.run, Deadline.after(SEAL_SECONDS))
        except NotAuthorised:
            raise  # another worker may have the right key
        except Refused as no:
            self._fail(f"the platform refused to finish the run: {no}")
            return
        expired = scorecard.status == RunStatus.EXPIRED
        status = RunStatus.EXPIRED if expired else RunStatus.FINISHED
        self._ledger.sealed(self._lease, status, scorecard)
        log.info("sealed", run=str(state.ref), status=status, final_score=scorecard.final_score)

    def _fail(self, reason: str) -> None:
        reason = self._worker.mask.text(reason)
        log.error("run_failed", run=str(self._lease.ref), reason=reason)
        self._ledger.failed(self._lease, reason)
