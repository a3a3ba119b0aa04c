"""One attempt at one task: lease → decision → effects → report.

The decision is stored before its first effect, once; an attempt that finds one carries it out and decides
nothing anew. Every way out leaves the task in a state that the ledger knows: reported, waiting, one attempt
less, or somebody else's.
"""

from __future__ import annotations

import structlog

from shared.errors import (
    ComeBack,
    DeadlinePassed,
    LeaseLost,
    NotAuthorised,
    Refused,
    ScrimmageError,
    SettingsError,
    SolverFault,
    Unavailable,
)
from shared.models import EffectResult, Solution
from shared.pool.jobs import SolveJob
from shared.pool.ledger import Lease
from workers.asking import Asking
from workers.effects import Effects, refused
from workers.guard import Guard
from workers.leases import Held
from workers.transcript import Transcript
from workers.worker import Worker

WAIT_SECONDS = 2.0
"""Pause after an infrastructure failure, where the other side names none."""

log = structlog.get_logger(__name__)


def solve(worker: Worker, job: SolveJob) -> None:
    """Play one task as far as it goes now. Raises Unavailable where Redis stays away; tend picks that up."""
    lease = worker.pool.ledger.lease(job.ref, job.task_id, worker.owner(), worker.settings.lease_seconds)
    if lease is None:
        log.info("nothing_to_solve", run=str(job.ref), task=job.task_id)
        return
    transcript = Transcript(worker.pool.transcripts, job.ref, job.task_id, lease.attempt, worker.mask)
    try:
        with worker.leases.hold(lease) as held:
            Attempt(worker, job, held, transcript).settle()
    except LeaseLost as error:
        log.info("lease_lost", run=str(job.ref), task=job.task_id, reason=str(error))
    finally:
        transcript.flush()


class Attempt:
    """One leased task being worked on."""

    def __init__(self, worker: Worker, job: SolveJob, held: Held, transcript: Transcript) -> None:
        self.worker = worker
        self.job = job
        self.held = held
        self.lease: Lease = held.lease
        self.transcript = transcript
        self.ledger = worker.pool.ledger
        self._names = {"run": str(self.lease.ref), "task": self.lease.task_id}

    def settle(self) -> None:
        """Play the attempt, and tell the ledger how it ended. Raises LeaseLost, Unavailable (of Redis)."""
        try:
            self._play()
        except LeaseLost:
            raise
        except ComeBack as wish:
            self.transcript.add("come_back", after=wish.after)
            self.ledger.come_back(self.lease, wish.after, wish.state)
        except SolverFault as fault:
            self._fault(str(fault))
        except (DeadlinePassed, NotAuthorised, SettingsError, Unavailable) as error:
            self._wait(error)
        except Refused as no:
            self._fault(f"the platform refused: {no}")
        except Exception as error:
            self.transcript.failure("internal_error", error)
            log.exception("internal_error", **self._names)
            self._fault(f"internal error: {type(error).__name__}: {error}")

    def _play(self) -> None:
        platform = self.worker.platform(self.lease.ref.platform)
        asking = Asking(self.worker, platform, self.job.solver, self.held, self.transcript)
        decision = self.lease.solution
        if decision is None:
            decision = self.ledger.decide(self.lease, asking.decide())
        effects = Effects(
            self.worker.pool.journal,
            platform,
            self.lease,
            Guard(asking.policy),
            self.transcript,
            self.held.until,
        )
        results = effects.carry_out(decision.effects, self.lease.effects_from)
        if refused(results) and not self.lease.revised:
            self._decide_again(asking, decision, effects, results)
        if self.ledger.report(self.lease).finish:
            self.worker.ask_finish(self.lease)

    def _decide_again(
        self, asking: Asking, first: Solution, effects: Effects, results: list[EffectResult]
    ) -> None:
        """The solver's second word, after the platform refused an effect. Without one the first stands."""
        try:
            second = asking.decide(results)
        except SolverFault as fault:
            log.warning("no_second_word", **self._names, reason=str(fault))
            return
        more = tuple(effect for effect in second.effects if effect not in first.effects)
        second, position = self.ledger.revise(
            self.lease, second.model_copy(update={"effects": more}), len(first.effects)
        )
        effects.carry_out(second.effects, position)

    def _fault(self, reason: str) -> None:
        """An attempt is used up; the last one may leave the run ready to be drained."""
        reason = self.worker.mask.text(reason)
        fault = self.ledger.fault(self.lease, reason)
        log.warning(
            "attempt_failed", **self._names, attempt=self.lease.attempt, status=fault.status, reason=reason
        )
        if fault.finish:
            self.worker.ask_finish(self.lease)

    def _wait(self, error: ScrimmageError) -> None:
        """Nothing was decided by this failure: the task comes back, and no attempt is counted.

        It does so while some of its time is left, whatever pause was asked for: its solver may have a last
        word.
        """
        after = error.after if isinstance(error, Unavailable) and error.after else WAIT_SECONDS
        after = min(after, self.held.until.left() / 2)
        reason = self.worker.mask.text(str(error))
        self.transcript.add("could_not_be_tried", reason=reason, after=after)
        log.warning("task_waits", **self._names, reason=reason, after=after)
        self.ledger.wait(self.lease, after, reason)
