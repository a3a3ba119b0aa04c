"""Drains a run: submits what is solved, and seals the run when it is due.

Safe at any time and any number of times: a run lease lets one drain work at a time, and what a dead one left
in ``submitting`` is settled by a look at the platform. Sealing is the only step that cannot be taken back.
"""

from __future__ import annotations

import structlog

from shared.deadline import Deadline
from shared.errors import DeadlinePassed, LeaseLost, NotAuthorised, Refused, SettingsError, Unavailable
from shared.models import Receipt, Run, RunStatus, TaskStatus
from shared.platforms.base import Platform
from shared.pool.jobs import FinishJob
from shared.pool.ledger import RunLease, RunState
from workers.worker import Worker

SUBMIT_SECONDS = 60.0
"""Longest time for one round of submissions; what is left then is drained by the next round."""

SEAL_SECONDS = 60.0
"""Longest time for one try to close a run, deadline or not: a late close does no harm."""

MARGIN_SECONDS, MARGIN_PART = 20.0, 0.05
"""A run with a deadline is sealed so long before it, whichever is less."""

GIVE_UP_SECONDS = 900.0
"""A run that cannot be sealed for so long after its time is up has failed."""

log = structlog.get_logger(__name__)


def finish(worker: Worker, job: FinishJob) -> None:
    """Drain one run, and seal it if it is due.

    A platform that does not answer ends the drain: the lease is given back and tend asks for the next one.
    One that says no, or a setting that is missing here, leaves the lease to run out: others may do better.
    """
    lease = worker.pool.ledger.lease_run(job.ref, worker.owner(), worker.leases.run_seconds)
    if lease is None:
        log.info("nothing_to_drain", run=str(job.ref))
        return
    with worker.leases.hold_run(lease):
        try:
            Drain(worker, lease).run()
        except LeaseLost as error:
            log.info("run_lease_lost", run=str(job.ref), reason=str(error))
        except (DeadlinePassed, Unavailable) as error:
            log.warning("drain_waits", run=str(job.ref), reason=worker.mask.text(str(error)))
            worker.pool.ledger.release_run(lease)
        except (Refused, SettingsError) as error:
            log.error("drain_refused", run=str(job.ref), reason=worker.mask.text(str(error)))


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
            if self._ledger.due_to_seal(state.ref, _margin(state)):
                self._seal(platform, state)
                return
            again = self._ledger.release_run(self._lease)

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
        for receipt in platform.submit(run, solutions, deadline):
            self._ledger.submitted(self._lease, receipt)
        log.info("drained", run=str(self._lease.ref), tasks=len(solutions))

    def _seal(self, platform: Platform, state: RunState) -> None:
        try:
            scorecard = platform.finish(state.run, Deadline.after(SEAL_SECONDS))
        except (DeadlinePassed, Refused, Unavailable) as error:
            if isinstance(error, Refused) and not isinstance(error, NotAuthorised):
                pass  # it will say no the next time too
            elif state.now - state.deadline < GIVE_UP_SECONDS:
                raise
            reason = self._worker.mask.text(f"the platform did not close the run: {error}")
            log.error("run_failed", run=str(state.ref), reason=reason)
            self._ledger.failed(self._lease, reason)
            return
        expired = scorecard.status == RunStatus.EXPIRED
        status = RunStatus.EXPIRED if expired else RunStatus.FINISHED
        self._ledger.sealed(self._lease, status, scorecard)
        log.info("sealed", run=str(state.ref), status=status, final_score=scorecard.final_score)


def _margin(state: RunState) -> float:
    """Seconds before its deadline at which the run is sealed; a run without one on the platform has none."""
    if state.run.seconds_left is None:
        return 0.0
    return min(MARGIN_SECONDS, MARGIN_PART * (state.deadline - state.opened_at))
