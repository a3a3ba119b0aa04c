"""The ledger in plain Python: what the Lua scripts must do, said a second time and more simply.

No fences, no sets, no time stamps in zsets: a lease is an object, and holding it means being the one that
the task remembers. Times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.models import Kind, RunStatus, TaskStatus
from shared.pool.ledger.tasks import FAULT_PAUSE

REPORTED = {TaskStatus.SOLVED, TaskStatus.SUBMITTING, TaskStatus.SUBMITTED, TaskStatus.GAVE_UP}


class Lost(Exception):
    """The model's LeaseLost."""


@dataclass
class ModelTask:
    status: TaskStatus = TaskStatus.QUEUED
    has_job: bool = False
    sent_at: float = 0.0
    holder: object = None
    """The newest lease, until it is taken back."""
    lease_until: float = 0.0
    stop: float = 0.0
    graced: bool = False
    due: float = 0.0
    faults: int = 0
    kills: int = 0
    deliveries: int = 0
    solution: str | None = None

    @property
    def out(self) -> bool:
        return self.status is TaskStatus.LEASED or (self.status is TaskStatus.QUEUED and self.has_job)


@dataclass
class Model:
    """One run."""

    kind: Kind
    attempts: int
    task_seconds: float
    deadline: float
    lease_seconds: float
    tasks: dict[str, ModelTask]
    now: float = 0.0
    status: RunStatus = RunStatus.SOLVING
    closer: str | None = None
    suspect: str | None = None
    again: bool = False
    drain: object = None
    """The newest run lease; whoever has it drains, until somebody takes it over."""
    drain_until: float | None = None

    @property
    def active(self) -> bool:
        return self.status in {RunStatus.SOLVING, RunStatus.FINISHING}

    def held(self, task_id: str, lease: object) -> ModelTask:
        task = self.tasks[task_id]
        if task.holder is not lease or task.status is not TaskStatus.LEASED or not self.active:
            raise Lost
        return task

    def take_unsent(self, limit: int) -> list[str]:
        taken: list[str] = []
        if self.status is not RunStatus.SOLVING:
            return taken
        for task_id, task in self.tasks.items():
            if task.status is not TaskStatus.QUEUED or task.has_job or len(taken) == limit:
                continue
            if task.kills >= self.attempts:
                if self.suspect is not None and self.tasks[self.suspect].out:
                    continue
                self.suspect = task_id
            task.has_job, task.sent_at = True, self.now
            taken.append(task_id)
        return taken

    def can_lease(self, task_id: str) -> bool:
        solving = self.status is RunStatus.SOLVING and self.now < self.deadline
        return solving and self.tasks[task_id].status is TaskStatus.QUEUED

    def lease(self, task_id: str, lease: object) -> None:
        task = self.tasks[task_id]
        task.status, task.holder, task.has_job, task.graced = TaskStatus.LEASED, lease, False, False
        task.deliveries += 1
        task.lease_until = self.now + self.lease_seconds
        task.stop = min(self.deadline, self.now + self.task_seconds)

    def renew(self, task_id: str, lease: object, seconds: float) -> None:
        task = self.held(task_id, lease)
        if self.now >= task.stop:
            raise Lost
        task.lease_until = max(task.lease_until, self.now + seconds)
        task.graced = False

    def decide(self, task_id: str, lease: object, solution: str) -> str:
        task = self.held(task_id, lease)
        task.solution = task.solution or solution
        return task.solution

    def report(self, task_id: str, lease: object) -> bool:
        task = self.tasks[task_id]
        if task.holder is lease and task.status in REPORTED - {TaskStatus.GAVE_UP}:
            return self.must_finish(task_id)
        self.held(task_id, lease).status = TaskStatus.SOLVED
        self.reported(task_id)
        return self.must_finish(task_id)

    def must_finish(self, task_id: str) -> bool:
        return self.kind is Kind.FINAL or self.closer == task_id

    def reported(self, task_id: str) -> None:
        self.again = True
        if all(task.status in REPORTED for task in self.tasks.values()):
            self.closer = self.closer or task_id
            self.status = RunStatus.FINISHING

    def wait(self, task_id: str, lease: object, after: float) -> None:
        task = self.tasks[task_id]
        if task.holder is lease and task.status in {TaskStatus.WAITING, TaskStatus.QUEUED}:
            return
        self.held(task_id, lease)
        task.status, task.due = TaskStatus.WAITING, self.now + after

    def fault(self, task_id: str, lease: object) -> tuple[TaskStatus, bool]:
        task = self.tasks[task_id]
        if task.holder is not lease or not self.active:
            raise Lost
        if task.status is TaskStatus.LEASED:
            task.faults += 1
            if task.faults >= self.attempts:
                self.give_up(task_id)
            else:
                task.status, task.due = TaskStatus.WAITING, self.now + FAULT_PAUSE * task.faults
        return task.status, task.status in REPORTED and self.must_finish(task_id)

    def give_up(self, task_id: str) -> None:
        task = self.tasks[task_id]
        task.status = TaskStatus.SOLVED if task.solution else TaskStatus.GAVE_UP
        self.reported(task_id)

    def queue(self, task: ModelTask) -> None:
        task.status, task.has_job = TaskStatus.QUEUED, False

    def grace(self) -> None:
        for task in self.tasks.values():
            if task.status is TaskStatus.LEASED and self.active:
                task.lease_until = max(task.lease_until, self.now + self.lease_seconds)
                task.graced = True

    def free(self, task_id: str, lease: object) -> None:
        """The holder of ``lease`` is dead."""
        task = self.tasks[task_id]
        if task.status is TaskStatus.LEASED and task.holder is lease and not task.solution and self.active:
            task.lease_until = self.now

    def free_run(self, drain: object) -> None:
        """The holder of ``drain`` is dead."""
        if self.drain is drain and self.drain_until is not None and self.active:
            self.drain_until = self.now

    def expire(self) -> dict[str, TaskStatus]:
        expired: dict[str, TaskStatus] = {}
        late = sorted(self.tasks, key=lambda task_id: (self.tasks[task_id].lease_until, task_id))
        for task_id in late:
            task = self.tasks[task_id]
            if task.status is not TaskStatus.LEASED or task.lease_until > self.now or not self.active:
                continue
            task.holder = None
            over = False
            if not task.graced and self.now >= task.stop:
                task.faults += 1
                over = task.faults >= self.attempts
            elif not task.graced:
                task.kills += 1
                over = task.kills > self.attempts
            if over:
                self.give_up(task_id)
            else:
                self.queue(task)
            expired[task_id] = task.status
        return expired

    def wake(self) -> set[str]:
        due = {
            task_id
            for task_id, task in self.tasks.items()
            if task.status is TaskStatus.WAITING and task.due <= self.now and self.active
        }
        for task_id in due:
            self.queue(self.tasks[task_id])
        return due

    def stale(self, age: float) -> set[str]:
        return {
            task_id
            for task_id, task in self.tasks.items()
            if task.status is TaskStatus.QUEUED
            and task.has_job
            and task.sent_at + age <= self.now
            and self.active
        }

    def can_drain(self) -> bool:
        if not self.active:
            return False
        if self.drain_until is not None and self.drain_until > self.now:
            self.again = True
            return False
        return True

    def drains(self, drain: object) -> None:
        if self.drain is not drain or not self.active:
            raise Lost

    def release(self, drain: object) -> bool:
        if self.drain is not drain or self.drain_until is None:
            return False
        if self.again:
            return True
        self.drain_until = None
        return False

    def unsubmitted(self) -> list[str]:
        waiting = {TaskStatus.SOLVED, TaskStatus.SUBMITTING}
        return [task_id for task_id, task in self.tasks.items() if task.status in waiting]

    def due_to_seal(self) -> bool:
        if not self.active:
            return False
        if self.now >= self.deadline:
            self.status = RunStatus.FINISHING
            return True
        return not self.unsubmitted() and all(task.status in REPORTED for task in self.tasks.values())
