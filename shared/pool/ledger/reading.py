"""Looking at runs and tasks, and removing runs that are archived."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from shared.errors import UsageError
from shared.models import Receipt, Run, RunRef, RunRequest, RunStatus, Scorecard, Solution, TaskStatus
from shared.pool import keys
from shared.pool.ledger.scripts import Scripts
from shared.pool.ledger.states import Event, RunState, TaskState, pick


class Reading(Scripts):
    """The ledger as others see it. Each state is one consistent look."""

    def refs(self) -> list[RunRef]:
        """The runs in the ledger, oldest first."""
        return [RunRef.parse(ref) for ref in self._members(keys.RUNS)]

    def find(self, text: str) -> RunRef:
        """The run named ``run_x`` or ``platform:run_x``. Raises UsageError where it is none or several."""
        return pick(self.refs(), text)

    def run(self, ref: RunRef) -> RunState | None:
        """The run, None if it is not in the ledger (any more)."""
        return self._read(ref, "")

    def runs(self, status: RunStatus | None = None) -> list[RunState]:
        """All runs, or those of one status, oldest first."""
        states = (self._read(ref, status or "") for ref in self.refs())
        return [state for state in states if state]

    def _read(self, ref: RunRef, status: str) -> RunState | None:
        reply = self._on_run("read_run", ref, status)
        return _run_state(ref, *reply) if reply else None

    def task(self, ref: RunRef, task_id: str) -> TaskState:
        """One task. Raises UsageError if the run or the task is not in the ledger."""
        _, fields = self._on_run("read_tasks", ref, task_id)
        if not fields:
            raise UsageError(f"no task {task_id[:80]!r} of {ref} in the ledger")
        return _task_state(task_id, _pairs(fields))

    def tasks(self, ref: RunRef) -> list[TaskState]:
        """The tasks of a run, in its own order; none if it is not in the ledger."""
        reply = self._on_run("read_tasks", ref)
        return [_task_state(reply[at], _pairs(reply[at + 1])) for at in range(0, len(reply), 2)]

    def events(self, ref: RunRef, after: str = "0") -> list[Event]:
        """The run's transitions since the event with the id ``after``, oldest first."""
        entries: Any = self._patient.do(lambda client: client.xrange(keys.events(ref), f"({after}"))
        return [_event(*entry) for entry in entries]

    def archived(self, ref: RunRef) -> None:
        """Everything worth keeping is on disk. Raises UsageError if the run is not sealed."""
        if not self._on_run("archived", ref):
            raise UsageError(f"{ref} is not sealed: it cannot be archived yet")

    def remove(self, ref: RunRef) -> None:
        """Delete every key of a sealed run. Raises UsageError if it is not sealed."""
        names = [*keys.ledger(ref), *keys.of_run(ref, self._members(keys.tasks(ref)))]
        if not self._call("remove", names, str(ref)):
            raise UsageError(f"{ref} is not sealed: finish it first")


def _run_state(ref: RunRef, now: str, fields: Sequence[str], tasks: Sequence[str]) -> RunState:
    run = _pairs(fields)
    rows = list(zip(tasks[0::4], tasks[1::4], tasks[2::4], tasks[3::4], strict=True))
    receipts = {row[0]: Receipt.model_validate_json(row[3]) for row in rows if row[3]}
    status = RunStatus(run["status"])
    opened = Run.model_validate_json(run["run"])
    return RunState(
        ref=ref,
        request_id=run["request_id"],
        request=RunRequest.model_validate_json(run["request"]),
        run=opened,
        status=status,
        opened_at=int(run["opened_at"]) / 1e6,
        deadline=int(run["deadline"]) / 1e6,
        now=int(now) / 1e6,
        ended_at=_seconds(run.get("ended_at")),
        requests=opened.opening_requests + int(run["requests"]),
        finisher=run["owner"] if int(run.get("lease_until", 0)) > int(now) else None,
        scorecard=Scorecard.model_validate_json(run["scorecard"]) if run.get("scorecard") else None,
        reason=run.get("reason") or None,
        archived="archived" in run,
        counts=dict(Counter(TaskStatus(row[1]) for row in rows)),
        submitted=sum(receipt.accepted for receipt in receipts.values()),
        failures=_failures(status, rows, receipts),
    )


def _failures(
    status: RunStatus, rows: Sequence[tuple[str, str, str, str]], receipts: dict[str, Receipt]
) -> dict[str, str]:
    failures = {}
    for task_id, task_status, reason, _ in rows:
        if task_id in receipts:
            if not receipts[task_id].accepted:
                failures[task_id] = receipts[task_id].reason or "refused by the platform"
        elif task_status == TaskStatus.GAVE_UP:
            failures[task_id] = reason
        elif status.final:
            failures[task_id] = f"the run ended while it was {task_status}" + (
                f": {reason}" if reason else ""
            )
    return failures


def _task_state(task_id: str, task: dict[str, str]) -> TaskState:
    status = TaskStatus(task["status"])
    return TaskState(
        task_id=task_id,
        status=status,
        faults=int(task.get("faults", 0)),
        kills=int(task.get("kills", 0)),
        deliveries=int(task.get("deliveries", 0)),
        fence=int(task.get("fence", 0)),
        owner=task.get("owner"),
        lease_until=_seconds(task.get("lease_until")) if status is TaskStatus.LEASED else None,
        due=_seconds(task.get("due")) if status is TaskStatus.WAITING else None,
        state=json.loads(task.get("state", "{}")),
        solution=Solution.model_validate_json(task["solution"]) if "solution" in task else None,
        revised="revised" in task,
        receipt=Receipt.model_validate_json(task["receipt"]) if "receipt" in task else None,
        reason=task.get("reason"),
    )


def _event(event_id: str, fields: dict[str, str]) -> Event:
    data = dict(fields)
    name, task_id = data.pop("name"), data.pop("task")
    at = int(event_id.partition("-")[0]) / 1e3
    return Event(id=event_id, at=at, name=name, task_id=task_id or None, data=data)


def _pairs(flat: Sequence[Any]) -> dict[str, str]:
    return dict(zip(flat[0::2], flat[1::2], strict=True))


def _seconds(micros: str | None) -> float | None:
    return int(micros) / 1e6 if micros else None
