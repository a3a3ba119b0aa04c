"""What the tender of the pool does: take back, wake, send again, remind. It never waits for anybody."""

from __future__ import annotations

from collections import Counter
from typing import Any

from shared.models import RunRef, TaskStatus
from shared.pool import keys
from shared.pool.ledger.scripts import Scripts, micros

ASK_PAUSE = 3.0
"""Seconds until a run without a finalizer is asked for again."""


class Tending(Scripts):
    """leased → queued or gave_up; waiting → queued."""

    def take_tending(self, owner: str, seconds: float) -> bool:
        """True for the one worker that may tend, until ``seconds`` from now."""
        return bool(self._call("take_tending", [keys.TENDING], owner, micros(seconds)))

    def expire_leases(self, grace: bool) -> list[tuple[RunRef, str, TaskStatus]]:
        """Take back the leases that ran out.

        Args:
            grace: True once after an outage of Redis: takes nothing back, but gives each lease one more lease
                time; those that then run out all the same count as nobody's fault.

        Returns:
            Run, task and its new status, for each that was taken back.
        """
        if grace:
            for ref, task_id in map(_split, self._members(keys.LEASES)):
                self._on_run("grace", ref, task_id)
            return []
        expired = []
        for ref, task_id in self._overdue(keys.LEASES):
            status = self._on_run("expire", ref, task_id)
            if status:
                expired.append((ref, task_id, TaskStatus(status)))
        return expired

    def free(self, worker: str) -> None:
        """A worker process is dead for certain: its leases end now, those of runs and of tending too.

        A task with a decision keeps its lease: a request of the dead may still be under way.

        Args:
            worker: its name; the owners of its leases begin with it and a hyphen.
        """
        self.take_tending(worker, 0.0)
        for ref, task_id in map(_split, self._members(keys.LEASES)):
            self._on_run("free", ref, task_id, f"{worker}-")
        for ref in map(RunRef.parse, self._members(keys.RUNS)):
            self._on_run("free_run", ref, f"{worker}-")

    def wake_due(self) -> list[tuple[RunRef, str]]:
        """Queue the waiting tasks whose time has come, and name them."""
        return [
            (ref, task_id) for ref, task_id in self._overdue(keys.DUE) if self._on_run("wake", ref, task_id)
        ]

    def sent(self) -> int:
        """How many jobs should be in the broker's queues: queued tasks that were sent and not leased yet."""
        return self._patient.do(lambda client: int(client.zcard(keys.SENT)))

    def sent_of(self) -> Counter[RunRef]:
        """The same by run."""
        members: list[Any] = self._patient.do(lambda client: client.zrange(keys.SENT, 0, -1))
        return Counter(ref for ref, _ in map(_split, members))

    def stale_sent(self, age_seconds: float) -> list[tuple[RunRef, str]]:
        """Queued tasks whose job was sent so long ago, or longer."""
        return self._overdue(keys.SENT, age_seconds)

    def resend(self, ref: RunRef, task_id: str) -> None:
        """Put a queued task back to those without a job (``take_unsent``)."""
        self._on_run("resend", ref, task_id)

    def finishing(self) -> list[RunRef]:
        """Runs that need a finish job, each named again only after ``ASK_PAUSE``.

        A run is among them if nobody drains it and it is finishing, or no more time is left than it keeps for
        its end, or it is a final run with a report that was not drained.
        """
        refs = map(RunRef.parse, self._members(keys.RUNS))
        return [ref for ref in refs if self._on_run("ask_finish", ref, micros(ASK_PAUSE))]

    def _overdue(self, key: str, age: float = 0.0) -> list[tuple[RunRef, str]]:
        return [_split(member) for member in self._call("overdue", [key], micros(age))]


def _split(member: str) -> tuple[RunRef, str]:
    ref, _, task_id = member.partition("|")
    return RunRef.parse(ref), task_id
