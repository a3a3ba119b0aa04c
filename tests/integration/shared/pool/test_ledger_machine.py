"""Any history of calls, by several workers with stale leases among them: ledger and model stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from shared.errors import LeaseLost
from shared.models import Kind, Receipt, RunStatus, Scorecard, Solution, TaskStatus
from shared.pool import keys
from shared.pool.connection import Patient
from shared.pool.ledger import Lease, Ledger, RunLease
from tests.support.examples import examples
from tests.support.ledger import LEASE, HandClock, a_run, open_run
from tests.support.ledger_model import Lost, Model, ModelTask

T = TypeVar("T")
LOST: Any = object()
TASKS = ("t1", "t2")
RUN_SECONDS, TASK_SECONDS = 200.0, 25.0


class LedgerMachine(RuleBasedStateMachine):
    """One run. Every call that a caller may repeat is made twice: a lost answer must not matter."""

    leases = Bundle("leases")
    drains = Bundle("drains")

    def __init__(self, patient: Patient) -> None:
        super().__init__()
        self.patient = patient
        self.clock = HandClock()
        self.began = self.clock.now
        self.ledger = Ledger(patient, clock=self.clock)
        self.tokens = 0
        self.workers: dict[Lease | RunLease, str] = {}
        self.told = 0

    @initialize(kind=st.sampled_from(Kind), attempts=st.integers(1, 2))
    def open(self, kind: Kind, attempts: int) -> None:
        run = a_run(tasks=len(TASKS), kind=kind, seconds_left=RUN_SECONDS)
        self.ref = open_run(self.ledger, run, attempts=attempts, task_seconds=TASK_SECONDS)
        tasks = {task_id: ModelTask() for task_id in TASKS}
        self.model = Model(kind, attempts, TASK_SECONDS, RUN_SECONDS, LEASE, tasks)

    @rule(seconds=st.sampled_from([0.5, 1.0, 4.0, LEASE, 26.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.model.now = (self.clock.now - self.began) / 1e6

    # Workers

    @rule(limit=st.integers(1, 3))
    def send_jobs(self, limit: int) -> None:
        assert self.ledger.take_unsent(self.ref, limit) == self.model.take_unsent(limit)

    @rule(target=leases, task_id=st.sampled_from(TASKS))
    def lease(self, task_id: str) -> Any:
        possible = self.model.can_lease(task_id)
        worker = self.token("w")
        lease = self.twice(lambda: self.ledger.lease(self.ref, task_id, f"{worker}-job", LEASE))
        assert (lease is not None) == possible
        if lease is None:
            return multiple()
        self.workers[lease] = worker
        self.model.lease(task_id, lease)
        task = self.model.tasks[task_id]
        assert (lease.attempt, lease.deliveries) == (task.faults + 1, task.deliveries)
        assert (lease.solution.answer if lease.solution else None) == task.solution
        assert lease.seconds_left == task.stop - self.model.now
        return lease

    @rule(lease=leases, seconds=st.sampled_from([1.0, LEASE]))
    def renew(self, lease: Lease, seconds: float = LEASE) -> None:
        self.same(
            lambda: self.ledger.renew(lease, seconds),
            lambda: self.model.renew(lease.task_id, lease, seconds),
        )

    @rule(lease=leases)
    def decide(self, lease: Lease) -> None:
        answer = self.token("answer")
        self.same(
            lambda: self.ledger.decide(lease, Solution(answer=answer)).answer,
            lambda: self.model.decide(lease.task_id, lease, answer),
        )

    @rule(lease=leases)
    def report(self, lease: Lease) -> None:
        if self.model.tasks[lease.task_id].solution:
            before = self.model.closer
            told = self.same(
                lambda: self.ledger.report(lease).finish,
                lambda: self.model.report(lease.task_id, lease),
            )
            self.told += told is True and before is None

    @rule(target=leases, task_id=st.sampled_from(TASKS))
    def solve(self, task_id: str) -> Any:
        """What most leases come to; without such rules few histories would get far."""
        lease = self.lease(task_id)
        if isinstance(lease, Lease):
            self.decide(lease)
            self.report(lease)
        return lease

    @rule(
        target=leases,
        task_id=st.sampled_from(TASKS),
        decided=st.booleans(),
        replaced=st.booleans(),
        last_word=st.sampled_from(["renew", "decide", "report", "wait", "fault", None]),
    )
    def fall_silent(self, task_id: str, decided: bool, replaced: bool, last_word: str | None) -> Any:
        """A worker is taken for dead; it may be replaced, and may speak once more."""
        lease = self.lease(task_id)
        if not isinstance(lease, Lease):
            return lease
        if decided:
            self.decide(lease)
        self.time_passes(LEASE)
        self.take_back()
        new = self.lease(task_id) if replaced else multiple()
        if last_word == "wait":
            self.wait(lease, after=0.0, comes_back=False)
        elif last_word:
            getattr(self, last_word)(lease)
        return new

    @rule(lease=leases, after=st.sampled_from([0.0, 3.0, 40.0]), comes_back=st.booleans())
    def wait(self, lease: Lease, after: float, comes_back: bool) -> None:
        def call() -> None:
            if comes_back:
                self.ledger.come_back(lease, after, {"n": self.tokens})
            else:
                self.ledger.wait(lease, after, "down")

        self.same(call, lambda: self.model.wait(lease.task_id, lease, after))

    @rule(lease=leases)
    def fault(self, lease: Lease) -> None:
        def call() -> tuple[TaskStatus, bool]:
            fault = self.ledger.fault(lease, "boom")
            return fault.status, fault.finish

        before = self.model.closer
        told = self.same(call, lambda: self.model.fault(lease.task_id, lease))
        self.told += told is not LOST and told[1] and before is None

    @rule(lease=leases)
    def worker_dies(self, lease: Lease) -> None:
        self.twice(lambda: self.ledger.free(self.workers[lease]))
        self.model.free(lease.task_id, lease)

    # Tending

    @precondition(lambda self: self.any(TaskStatus.LEASED))
    @rule()
    def take_back(self) -> None:
        expired = self.ledger.expire_leases(grace=False)
        assert {task_id: status for _, task_id, status in expired} == self.model.expire()

    @precondition(lambda self: self.any(TaskStatus.LEASED))
    @rule()
    def give_grace(self) -> None:
        assert self.twice(lambda: self.ledger.expire_leases(grace=True)) == []
        self.model.grace()

    @precondition(lambda self: self.any(TaskStatus.WAITING))
    @rule()
    def wake(self) -> None:
        assert {task_id for _, task_id in self.ledger.wake_due()} == self.model.wake()

    @precondition(lambda self: any(task.has_job for task in self.model.tasks.values()))
    @rule()
    def resend(self) -> None:
        stale = self.twice(lambda: self.ledger.stale_sent(5.0))
        assert {task_id for _, task_id in stale} == self.model.stale(5.0)
        for ref, task_id in stale:
            self.twice(lambda ref=ref, task_id=task_id: self.ledger.resend(ref, task_id))  # type: ignore[misc]
            self.model.queue(self.model.tasks[task_id])

    # Finalizers

    @rule(target=drains)
    def lease_run(self) -> Any:
        possible = self.model.can_drain()
        worker = self.token("f")
        drain = self.twice(lambda: self.ledger.lease_run(self.ref, f"{worker}-job", LEASE))
        assert (drain is not None) == possible
        if drain is None:
            return multiple()
        self.workers[drain] = worker
        self.model.drain, self.model.drain_until = drain, self.model.now + LEASE
        return drain

    @rule(drain=drains)
    def finalizer_dies(self, drain: RunLease) -> None:
        self.twice(lambda: self.ledger.free(self.workers[drain]))
        self.model.free_run(drain)

    @rule(drain=drains)
    def submit(self, drain: RunLease) -> None:
        """A whole round: look, mark, submit one."""

        def model() -> list[str]:
            self.model.drains(drain)
            self.model.again = False
            return self.model.unsubmitted()

        found = self.same(lambda: list(self.ledger.unsubmitted(drain)), model)
        if found is LOST or not found:
            return
        self.twice(lambda: self.ledger.submitting(drain, found))
        for task_id in found:
            self.model.tasks[task_id].status = TaskStatus.SUBMITTING
        self.twice(lambda: self.ledger.submitted(drain, Receipt(task_id=found[0])))
        self.model.tasks[found[0]].status = TaskStatus.SUBMITTED

    @rule(drain=drains, task_id=st.sampled_from(TASKS))
    def submit_whatever(self, drain: RunLease, task_id: str) -> None:
        """A receipt for any task: it counts only where there was a solution to submit."""

        def model() -> None:
            self.model.drains(drain)
            if task_id in self.model.unsubmitted():
                self.model.tasks[task_id].status = TaskStatus.SUBMITTED

        self.same(lambda: self.ledger.submitted(drain, Receipt(task_id=task_id)), model)

    @rule(drain=drains)
    def release_run(self, drain: RunLease) -> None:
        self.same(lambda: self.ledger.release_run(drain), lambda: self.model.release(drain))

    @rule()
    def due_to_seal(self) -> None:
        assert self.twice(lambda: self.ledger.due_to_seal(self.ref)) == self.model.due_to_seal()

    @precondition(lambda self: self.tokens > 12)  # late enough for something to have happened
    @rule(drain=drains, status=st.sampled_from([RunStatus.FINISHED, RunStatus.FAILED]))
    def seal(self, drain: RunLease, status: RunStatus) -> None:
        def call() -> None:
            if status is RunStatus.FAILED:
                self.ledger.failed(drain, "the platform does not know the run")
            else:
                self.ledger.sealed(drain, status, Scorecard())

        def model() -> None:
            if self.model.drain is drain and self.model.status is status:
                return
            self.model.drains(drain)
            self.model.status, self.model.drain_until = status, None

        self.same(call, model)

    # What always holds

    @invariant()
    def ledger_and_model_are_the_same(self) -> None:
        state = self.ledger.run(self.ref)
        assert state is not None
        assert state.status is self.model.status
        for task in self.ledger.tasks(self.ref):
            expected = self.model.tasks[task.task_id]
            assert task.status is expected.status
            assert (task.faults, task.kills) == (expected.faults, expected.kills)
            assert task.deliveries == expected.deliveries
            assert (task.solution.answer if task.solution else None) == expected.solution
            if task.status is TaskStatus.LEASED:
                assert task.lease_until == self.at(expected.lease_until)
            if task.status is TaskStatus.WAITING:
                assert task.due == self.at(expected.due)

    @invariant()
    def the_lists_of_what_ends_by_time_name_what_they_must(self) -> None:
        tasks = list(self.model.tasks.items()) if self.model.active else []
        pipeline = self.patient.client.pipeline(transaction=False)
        for key in (keys.LEASES, keys.DUE, keys.SENT):
            pipeline.zrange(key, 0, -1)
        listed = [{member.partition("|")[2] for member in members} for members in pipeline.execute()]
        assert listed == [
            {task_id for task_id, task in tasks if task.status is TaskStatus.LEASED},
            {task_id for task_id, task in tasks if task.status is TaskStatus.WAITING},
            {task_id for task_id, task in tasks if task.status is TaskStatus.QUEUED and task.has_job},
        ]

    @invariant()
    def a_dev_run_tells_one_caller_at_most_to_finish_it(self) -> None:
        assert self.model.kind is Kind.FINAL or self.told <= 1

    def teardown(self) -> None:
        """Whatever happened, the run can be sealed and removed, and leaves nothing behind."""
        if not hasattr(self, "ref"):
            return
        if self.model.active:
            self.clock.advance(LEASE)
            drain = self.ledger.lease_run(self.ref, "the last", LEASE)
            assert drain is not None
            self.ledger.failed(drain, "the test is over")
        self.ledger.remove(self.ref)
        left = self.patient.do(lambda client: client.keys("scrimmage:*"))
        assert set(left) <= {"scrimmage:born", "scrimmage:tending"}  # type: ignore[arg-type]

    # Means

    def any(self, status: TaskStatus) -> bool:
        return any(task.status is status for task in self.model.tasks.values())

    def token(self, kind: str) -> str:
        self.tokens += 1
        return f"{kind}{self.tokens}"

    def at(self, seconds: float) -> float:
        """The model's time as the ledger's."""
        return (self.began + round(seconds * 1e6)) / 1e6

    def twice(self, call: Callable[[], T]) -> T:
        first = call()
        assert call() == first
        return first

    def same(self, call: Callable[[], T], model: Callable[[], T]) -> T:
        """Ledger and model give the same answer, or both say that the lease is over."""

        def answer() -> T:
            try:
                return call()
            except LeaseLost:
                return LOST

        try:
            expected = model()
        except Lost:
            expected = LOST
        assert self.twice(answer) == expected
        return expected


def test_any_history_of_calls_does_what_the_model_says(patient: Patient) -> None:
    run_state_machine_as_test(
        lambda: LedgerMachine(patient),
        settings=settings(
            max_examples=examples(120),
            stateful_step_count=40,
            derandomize=True,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
