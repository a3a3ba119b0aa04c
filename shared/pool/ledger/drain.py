"""What the finalizer does with a run: lease it, submit what is solved, seal it."""

from __future__ import annotations

from collections.abc import Iterable

from shared.errors import UsageError
from shared.models import Kind, Receipt, RunRef, RunStatus, Scorecard, Solution, TaskStatus
from shared.pool.ledger.scripts import Scripts, brief, micros
from shared.pool.ledger.states import RunLease

PROLONGED_BY = 5.0
"""Seconds by which a deadline is put off at least: less is the rounding of the platform's clock."""


class Drain(Scripts):
    """solved → submitting → submitted; solving → finishing → finished, expired or failed.

    A drain may be repeated, interrupted and doubled at will; ``sealed`` and ``failed`` alone are final.
    """

    def lease_run(self, ref: RunRef, owner: str, seconds: float) -> RunLease | None:
        """Take the run to drain it.

        Args:
            owner: a token made anew for each execution of a job. A second call with it gets the same lease.

        Returns:
            None if the run is sealed or unknown, or if somebody else drains it: they go round once more.
        """
        fence = self._on_run("lease_run", ref, owner, micros(seconds))
        return RunLease(ref, int(fence), owner) if fence else None

    def renew_run(self, lease: RunLease, seconds: float) -> None:
        """Go on for ``seconds`` from now. Raises LeaseLost if it is another's by now, or sealed."""
        self._held("renew_run", lease.ref, lease.fence, micros(seconds))

    def release_run(self, lease: RunLease) -> bool:
        """Give the run back. True: there is something new to drain, the lease is kept, go round again."""
        return bool(self._on_run("release_run", lease.ref, lease.fence))

    def unsubmitted(self, lease: RunLease) -> dict[str, tuple[TaskStatus, Solution]]:
        """What is to be submitted, by task id. ``submitting``: an earlier drain may have done it, so look."""
        reply = self._held("unsubmitted", lease.ref, lease.fence)
        rows = zip(reply[0::3], reply[1::3], reply[2::3], strict=True)
        return {
            task_id: (TaskStatus(status), Solution.model_validate_json(solution))
            for task_id, status, solution in rows
        }

    def submitting(self, lease: RunLease, task_ids: Iterable[str]) -> None:
        """Write down that these are about to be submitted, before the platform is called."""
        self._held("submitting", lease.ref, lease.fence, *task_ids)

    def paced(self, lease: RunLease, seconds: float) -> None:
        """Note how long one submission took just now; the run's margin before its deadline follows it."""
        self._held("paced", lease.ref, lease.fence, micros(seconds))

    def submitted(self, lease: RunLease, receipt: Receipt) -> None:
        """Bank the platform's word on one task, accepted or refused for good. The first receipt stays."""
        args = (receipt.task_id, receipt.model_dump_json(), "1" if receipt.accepted else "0")
        self._held("submitted", lease.ref, lease.fence, *args)

    def close(self, ref: RunRef) -> Kind:
        """End the run's time now: what is solved is drained, the rest is left undone.

        Returns:
            The run's kind, for the finish job that the caller sends.

        Raises:
            UsageError: the run is not in the ledger.
        """
        kind = self._on_run("close", ref)
        if kind is None:
            raise UsageError(f"no run {ref} in the ledger")
        return Kind(kind)

    def out_of_time(self, ref: RunRef) -> bool:
        """True where tasks are still being solved though the time is up, by Redis's clock alone."""
        return bool(self._on_run("out_of_time", ref))

    def prolong(self, ref: RunRef, seconds_left: float) -> bool:
        """Believe a platform that shows more time than the ledger does. Returns whether it does."""
        return bool(self._on_run("prolong", ref, micros(seconds_left), micros(PROLONGED_BY)))

    def due_to_seal(self, ref: RunRef) -> bool:
        """True when every task has reported and is submitted, or the time is up but for what the run keeps
        for its end (``shared.pool.timing``).

        Once it is true for want of time the run is finishing: no task is leased any more.
        """
        return bool(self._on_run("due_to_seal", ref))

    def sealed(self, lease: RunLease, status: RunStatus, scorecard: Scorecard) -> None:
        """The platform closed the run: ``finished`` or ``expired``. From here on nothing of it changes."""
        if status not in {RunStatus.FINISHED, RunStatus.EXPIRED}:
            raise UsageError(f"a run is sealed as finished or expired, not as {status}")
        self._held("seal", lease.ref, lease.fence, status, scorecard.model_dump_json(), "")

    def failed(self, lease: RunLease, reason: str) -> None:
        """The run cannot be brought to an end on the platform. From here on nothing of it changes."""
        self._held("seal", lease.ref, lease.fence, RunStatus.FAILED, "", brief(reason))
