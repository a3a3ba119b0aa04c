"""What a worker does with a task: lease it, decide, report, or leave it for later."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

from shared.errors import LeaseLost
from shared.models import JsonObject, Run, RunRef, RunRequest, Solution, TaskStatus
from shared.pool.ledger.scripts import Scripts, brief, micros
from shared.pool.ledger.states import Fault, Lease, Report

FAULT_PAUSE = 1.0
"""Seconds until the second attempt; one more of them with each further fault."""


class Tasks(Scripts):
    """queued → leased → solved, waiting or gave_up.

    The fence decides, not the clock: a lease is over once it was taken back (``Tending.expire_leases``), not
    when its time ran out. So a worker that Redis left alone for a while goes on where nobody replaced it.
    """

    def take_unsent(self, ref: RunRef, limit: int) -> list[str]:
        """Up to ``limit`` queued tasks that have no job, marked as sent: the caller sends their jobs now."""
        return list(self._on_run("take_unsent", ref, limit))

    def lease(self, ref: RunRef, task_id: str, owner: str, seconds: float) -> Lease | None:
        """Take a task to work on it for ``seconds``; renew it before they are over.

        Args:
            owner: a token made anew for each execution of a job. A second call with it gets the same lease.

        Returns:
            None if there is nothing to do: another has it, or it is solved, waiting, removed or out of time.
        """
        verdict, *reply = self._on_run("lease", ref, task_id, owner, micros(seconds))
        if verdict == "none":
            return None
        run, request, now, fence, until, faults, deliveries, state, solution, revised, effects_from = reply
        return Lease(
            ref=ref,
            task_id=task_id,
            fence=int(fence),
            attempt=int(faults or 0) + 1,
            deliveries=int(deliveries),
            run=Run.model_validate_json(run),
            request=RunRequest.model_validate_json(request),
            state=json.loads(state) if state else {},
            solution=Solution.model_validate_json(solution) if solution else None,
            revised=bool(revised),
            effects_from=int(effects_from or 0),
            seconds_left=max(0.0, (int(until) - int(now)) / 1e6),
        )

    def renew(self, lease: Lease, seconds: float) -> None:
        """Go on for ``seconds`` from now. Raises LeaseLost if it is over or the task's time is up."""
        if self.renew_all([lease], seconds):
            raise LeaseLost(f"renew {lease.task_id} of {lease.ref}: the lease is over")

    def renew_all(self, leases: Iterable[Lease], seconds: float) -> set[Lease]:
        """Renew many, in one round trip per run. Returns those that are over."""
        by_run: dict[RunRef, list[Lease]] = defaultdict(list)
        for lease in leases:
            by_run[lease.ref].append(lease)
        over: set[Lease] = set()
        for ref, held in by_run.items():
            pairs = [part for lease in held for part in (lease.task_id, lease.fence)]
            reply = self._on_run("renew", ref, micros(seconds), *pairs)
            lost = set(zip(reply[0::2], map(int, reply[1::2]), strict=True))
            over.update(lease for lease in held if (lease.task_id, lease.fence) in lost)
        return over

    def decide(self, lease: Lease, solution: Solution) -> Solution:
        """Store the decision before its first effect. Returns the one to execute: the first stored."""
        (stored,) = self._held("decide", lease.ref, lease.task_id, lease.fence, solution.model_dump_json())
        return Solution.model_validate_json(stored)

    def revise(self, lease: Lease, solution: Solution, effects_from: int) -> tuple[Solution, int]:
        """Replace the decision, once per task, after one of its effects was refused.

        Args:
            effects_from: the journal position of the first effect of ``solution``.

        Returns:
            The revision to execute and its first position: the first that was stored.
        """
        args = (lease.task_id, lease.fence, solution.model_dump_json(), effects_from)
        stored, position = self._held("revise", lease.ref, *args)
        return Solution.model_validate_json(stored), int(position)

    def report(self, lease: Lease) -> Report:
        """The decision was carried out: the task is solved.

        Exactly one report of a dev run is told to send the finish job, each report of a final run is.
        """
        (finish,) = self._held("report", lease.ref, lease.task_id, lease.fence)
        return Report(finish == "1")

    def come_back(self, lease: Lease, after: float, state: JsonObject) -> None:
        """The solver wants to be called again in ``after`` seconds, with ``state``. Costs no attempt."""
        args = (lease.task_id, lease.fence, micros(after), "come back", json.dumps(state))
        self._held("wait", lease.ref, *args)

    def wait(self, lease: Lease, after: float, reason: str) -> None:
        """Infrastructure failed: try again in ``after`` seconds. Costs no attempt."""
        self._held("wait", lease.ref, lease.task_id, lease.fence, micros(after), brief(reason), "")

    def fault(self, lease: Lease, reason: str) -> Fault:
        """The solver failed: an attempt is used up. After the last one the task has reported by giving up."""
        args = (lease.task_id, lease.fence, brief(reason), micros(FAULT_PAUSE))
        status, finish = self._held("fault", lease.ref, *args)
        return Fault(TaskStatus(status), finish == "1")
