"""What the ledger hands out: leases to those who work, states to those who look.

All times are seconds of Redis's clock (since the epoch), whichever machine reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import Field

from shared.errors import UsageError
from shared.models import (
    Frozen,
    JsonObject,
    Receipt,
    Run,
    RunRef,
    RunRequest,
    RunStatus,
    Scorecard,
    Solution,
    Task,
    TaskStatus,
)


@dataclass(frozen=True)
class Opening:
    """A request whose run is not open yet. ``at``: when it was written down."""

    request_id: str
    request: RunRequest
    at: float


@dataclass(frozen=True)
class Rejection:
    """A request that the platform refused, kept for whoever else waits for its run (the last fifty)."""

    request_id: str
    request: RunRequest
    reason: str
    at: float


@dataclass(frozen=True)
class Lease:
    """The right to work on one task, until it is taken back.

    ``fence`` grows with each lease of the task; the ledger refuses whoever shows an older one.
    ``attempt`` counts from 1 and grows with solver faults only; ``deliveries`` counts every lease.
    ``state`` is what the last come-back left. ``solution`` is the stored decision of an earlier lease: it is
    executed, not made anew. ``effects_from`` is the journal position of its first effect (not 0 where
    ``revised``: it was decided after an effect had been refused). ``seconds_left`` until the task's deadline.
    """

    ref: RunRef
    task_id: str
    fence: int
    attempt: int = field(compare=False)
    deliveries: int = field(compare=False)
    run: Run = field(compare=False, repr=False)
    request: RunRequest = field(compare=False, repr=False)
    state: JsonObject = field(compare=False)
    solution: Solution | None = field(compare=False)
    revised: bool = field(compare=False)
    effects_from: int = field(compare=False)
    seconds_left: float = field(compare=False)

    @property
    def task(self) -> Task:
        """The task as the platform described it."""
        return next(task for task in self.run.tasks if task.task_id == self.task_id)


@dataclass(frozen=True)
class Report:
    """The answer to a report. ``finish``: the caller must send the run's finish job."""

    finish: bool


@dataclass(frozen=True)
class Fault:
    """The answer to a solver's fault: the task waits for its next attempt, or has reported by giving up."""

    status: TaskStatus
    finish: bool


@dataclass(frozen=True)
class RunLease:
    """The right to drain and seal one run. ``fence`` works as in ``Lease``."""

    ref: RunRef
    fence: int
    owner: str


class TaskState(Frozen):
    """One task as the ledger holds it."""

    task_id: str
    status: TaskStatus
    faults: int = 0
    """Attempts used up by the solver."""
    kills: int = 0
    """Leases that ended in silence: their worker died, or was thought dead."""
    deliveries: int = 0
    """Leases in all."""
    fence: int = 0
    owner: str | None = None
    """Who has it, or had it last."""
    lease_until: float | None = None
    due: float | None = None
    state: JsonObject = Field(default_factory=dict)
    solution: Solution | None = None
    revised: bool = False
    receipt: Receipt | None = None
    reason: str | None = None
    """Why it waits, gave up, or was last sent back."""


class RunState(Frozen):
    """One run as the ledger holds it, with its tasks counted."""

    ref: RunRef
    request_id: str
    request: RunRequest
    run: Run
    status: RunStatus
    opened_at: float
    deadline: float
    now: float
    """Redis's clock when this was read."""
    ended_at: float | None = None
    requests: int = 0
    """HTTP requests made for the run."""
    finisher: str | None = None
    """Who drains it now."""
    scorecard: Scorecard | None = None
    reason: str | None = None
    archived: bool = False
    counts: dict[TaskStatus, int]
    submitted: int
    """Tasks whose submission the platform accepted."""
    failures: dict[str, str]
    """Task id → why it has no accepted submission; tasks that may still get one are not in it."""

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.deadline - self.now)

    @property
    def tasks_total(self) -> int:
        return len(self.run.tasks)


class Event(Frozen):
    """One transition, narrated. ``id`` is the stream's; ``data`` is small and holds no solution."""

    id: str
    at: float
    name: str
    task_id: str | None = None
    data: dict[str, str] = Field(default_factory=dict)


def pick(refs: list[RunRef], text: str) -> RunRef:
    """The one run of ``refs`` that ``text`` names: ``run_x``, or ``platform:run_x``.

    Raises:
        UsageError: no run has this name, or several have.
    """
    found = [ref for ref in refs if text in {str(ref), ref.run_id}]
    if not found:
        raise UsageError(f"no run {text[:80]!r} in the ledger; `scrimmage status` lists the runs")
    if len(found) > 1:
        raise UsageError(f"{text!r} names several runs: {', '.join(map(str, found))}; give platform:run_id")
    return found[0]
