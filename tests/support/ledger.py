"""A clock that tests move by hand, and runs that are opened in one line."""

from __future__ import annotations

from shared.models import Kind, Run, RunRef, RunRequest, Solution, Task
from shared.pool.ledger import Lease, Ledger, RunLease

LEASE = 10.0
"""Seconds of the leases in these tests."""


class HandClock:
    """Microseconds; moves only when told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += round(seconds * 1_000_000)


def a_run(run_id: str = "run_1", tasks: int = 3, **fields: object) -> Run:
    """A run with the tasks t1, t2, …"""
    named = tuple(Task(run_id=run_id, task_id=f"t{number}") for number in range(1, tasks + 1))
    return Run.model_validate({"platform": "arena", "run_id": run_id, "tasks": named, **fields})


def open_run(ledger: Ledger, run: Run | None = None, *, slack: float = 0.0, **request: object) -> RunRef:
    """Open a run (three tasks, dev, where nothing else is said) and return its ref."""
    run = run or a_run()
    asked = RunRequest.model_validate({"kind": run.kind, **request})
    assert ledger.opened(ledger.request(asked), run, asked, slack=slack)
    return run.ref


def open_final(ledger: Ledger, seconds_left: float = 1800.0, tasks: int = 3, *, slack: float = 0.0) -> RunRef:
    run = a_run("run_final", tasks, kind=Kind.FINAL, seconds_left=seconds_left)
    return open_run(ledger, run, slack=slack)


def lease(ledger: Ledger, ref: RunRef, task_id: str = "t1", owner: str = "w1") -> Lease:
    """A lease that must be granted."""
    granted = ledger.lease(ref, task_id, owner, LEASE)
    assert granted is not None
    return granted


def solve(ledger: Ledger, ref: RunRef, *task_ids: str) -> None:
    """Lease, decide and report each task."""
    for task_id in task_ids:
        held = lease(ledger, ref, task_id)
        ledger.decide(held, Solution(answer=task_id))
        ledger.report(held)


def lease_run(ledger: Ledger, ref: RunRef, owner: str = "f1") -> RunLease:
    """The lease of a run that must be granted."""
    granted = ledger.lease_run(ref, owner, LEASE)
    assert granted is not None
    return granted
