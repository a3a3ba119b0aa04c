"""What a worker does with a task."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from shared.errors import LeaseLost, UsageError
from shared.models import Effect, RunRef, RunStatus, Scorecard, Solution, TaskStatus
from shared.pool.connection import Patient
from shared.pool.ledger import Fault, Ledger, Report
from tests.support.ledger import LEASE, HandClock, a_run, lease, lease_run, open_final, open_run, solve


def status(ledger: Ledger, ref: RunRef, task_id: str = "t1") -> TaskStatus:
    return ledger.task(ref, task_id).status


def test_a_leased_task_is_not_given_to_anybody_else(ledger: Ledger) -> None:
    ref = open_run(ledger)
    lease(ledger, ref, owner="w1")
    assert ledger.lease(ref, "t1", "w2", LEASE) is None


def test_the_owner_of_a_lease_gets_the_same_one_again(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    first = lease(ledger, ref, owner="w1")
    clock.advance(1)
    again = lease(ledger, ref, owner="w1")
    assert again == first
    assert again.deliveries == 1
    assert again.seconds_left == first.seconds_left - 1


def test_a_lease_brings_all_that_the_work_needs(ledger: Ledger) -> None:
    run = a_run()
    held = lease(ledger, open_run(ledger, run, task_seconds=120.0), "t2")
    assert held.run == run
    assert held.task == run.tasks[1]
    assert (held.attempt, held.deliveries, held.state, held.solution) == (1, 1, {}, None)
    assert held.seconds_left == 120.0


def test_a_tasks_time_ends_with_that_of_its_run(ledger: Ledger) -> None:
    held = lease(ledger, open_run(ledger, task_seconds=120.0, budget_seconds=50.0))
    assert held.seconds_left == 50.0


def test_nothing_is_leased_once_the_runs_time_is_up(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, budget_seconds=60.0)
    clock.advance(60)
    assert ledger.lease(ref, "t1", "w1", LEASE) is None


@pytest.mark.parametrize("task_id", ["t9", "", "t1|x"])
def test_an_unknown_task_is_nothing_to_do(ledger: Ledger, task_id: str) -> None:
    assert ledger.lease(open_run(ledger), task_id, "w1", LEASE) is None


def test_a_run_that_is_not_in_the_ledger_is_nothing_to_do(ledger: Ledger) -> None:
    assert ledger.lease(a_run("run_gone").ref, "t1", "w1", LEASE) is None


def test_a_solved_task_is_nothing_to_do_for_a_redelivered_job(ledger: Ledger) -> None:
    ref = open_run(ledger)
    solve(ledger, ref, "t1")
    assert ledger.lease(ref, "t1", "w2", LEASE) is None


def test_renewing_prolongs_a_lease_and_never_shortens_it(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    held = lease(ledger, ref)
    clock.advance(4)
    ledger.renew(held, LEASE)
    assert ledger.task(ref, "t1").lease_until == clock.now / 1e6 + LEASE
    ledger.renew(held, 1.0)
    assert ledger.task(ref, "t1").lease_until == clock.now / 1e6 + LEASE


def test_past_the_deadline_of_the_task_nothing_is_renewed(ledger: Ledger, clock: HandClock) -> None:
    held = lease(ledger, open_run(ledger, task_seconds=30.0))
    clock.advance(29)
    ledger.renew(held, LEASE)
    clock.advance(1)
    with pytest.raises(LeaseLost):
        ledger.renew(held, LEASE)


def test_renewing_many_names_those_that_are_over(ledger: Ledger, clock: HandClock) -> None:
    here = open_run(ledger)
    there = open_run(ledger, a_run("run_2"))
    stale = lease(ledger, here, "t1")
    clock.advance(LEASE)
    ledger.expire_leases(grace=False)
    again = lease(ledger, here, "t1", "w2")
    held = [again, lease(ledger, here, "t2"), lease(ledger, here, "t3"), lease(ledger, there, "t1")]
    assert ledger.renew_all([stale, *held], LEASE) == {stale}


def test_a_lease_whose_time_ran_out_goes_on_where_nobody_took_it_back(
    ledger: Ledger, clock: HandClock
) -> None:
    ref = open_run(ledger)
    held = lease(ledger, ref)
    clock.advance(LEASE * 3)
    ledger.renew(held, LEASE)
    ledger.decide(held, Solution(answer=1))
    clock.advance(LEASE * 3)
    ledger.report(held)
    assert status(ledger, ref) is TaskStatus.SOLVED


def test_every_step_of_an_older_lease_is_refused_and_changes_nothing(
    ledger: Ledger, clock: HandClock
) -> None:
    ref = open_run(ledger)
    old = lease(ledger, ref, owner="w1")
    clock.advance(LEASE)
    ledger.expire_leases(grace=False)
    new = lease(ledger, ref, owner="w2")
    assert new.fence > old.fence
    before = ledger.task(ref, "t1")

    steps: list[Callable[[], object]] = [
        lambda: ledger.renew(old, 99),
        lambda: ledger.decide(old, Solution(answer="old")),
        lambda: ledger.revise(old, Solution(answer="old"), 0),
        lambda: ledger.report(old),
        lambda: ledger.come_back(old, 0, {"old": True}),
        lambda: ledger.wait(old, 0, "old"),
        lambda: ledger.fault(old, "old"),
    ]
    for step in steps:
        with pytest.raises(LeaseLost):
            step()

    assert ledger.task(ref, "t1") == before


def test_the_solution_of_a_lease_that_was_taken_back_is_never_accepted(
    ledger: Ledger, clock: HandClock
) -> None:
    ref = open_run(ledger)
    old = lease(ledger, ref)
    clock.advance(LEASE)
    ledger.expire_leases(grace=False)
    before = ledger.task(ref, "t1")
    assert (before.status, before.solution) == (TaskStatus.QUEUED, None)

    steps: list[Callable[[], object]] = [
        lambda: ledger.decide(old, Solution(answer="late")),
        lambda: ledger.report(old),
        lambda: ledger.come_back(old, 0, {}),
        lambda: ledger.fault(old, "late"),
    ]
    for step in steps:
        with pytest.raises(LeaseLost):
            step()

    assert ledger.task(ref, "t1") == before


def test_fences_grow_even_where_redis_came_back_empty(
    ledger: Ledger, clock: HandClock, redis_client: redis.Redis
) -> None:
    ref = open_run(ledger)
    old = lease(ledger, ref)
    redis_client.flushall()
    clock.advance(0.001)
    open_run(ledger)
    lease(ledger, ref, owner="w2")
    with pytest.raises(LeaseLost):
        ledger.decide(old, Solution(answer="from another life"))


def test_the_first_decision_stays(ledger: Ledger) -> None:
    ref = open_run(ledger)
    held = lease(ledger, ref)
    first = Solution(answer={"n": 1}, effects=(Effect(tool="write", args={"path": "/drafts/a"}),))
    assert ledger.decide(held, first) == first
    assert ledger.decide(held, Solution(answer={"n": 2})) == first
    assert ledger.task(ref, "t1").solution == first


def test_a_later_lease_finds_the_decision_of_an_earlier_one(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    decided = ledger.decide(lease(ledger, ref), Solution(answer=[1, 2], outcome="DENIED_SECURITY"))
    clock.advance(LEASE)
    ledger.expire_leases(grace=False)
    assert lease(ledger, ref, owner="w2").solution == decided


def test_a_decision_is_revised_once(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    held = lease(ledger, ref)
    ledger.decide(held, Solution(answer="first"))
    second = Solution(answer="second")
    assert ledger.revise(held, second, 2) == (second, 2)
    assert ledger.revise(held, Solution(answer="third"), 5) == (second, 2)
    clock.advance(LEASE)
    ledger.expire_leases(grace=False)
    later = lease(ledger, ref, owner="w2")
    assert (later.solution, later.revised, later.effects_from) == (second, True, 2)


def test_a_task_without_a_decision_cannot_be_reported(ledger: Ledger) -> None:
    ref = open_run(ledger)
    with pytest.raises(UsageError, match="undecided"):
        ledger.report(lease(ledger, ref))
    assert status(ledger, ref) is TaskStatus.LEASED


def test_a_solved_task_forgets_why_it_once_waited(ledger: Ledger) -> None:
    ref = open_run(ledger)
    ledger.wait(lease(ledger, ref), 0, "the model is down")
    ledger.wake_due()
    solve(ledger, ref, "t1")
    assert ledger.task(ref, "t1").reason is None


def test_the_last_report_of_a_dev_run_is_told_to_finish_it(ledger: Ledger) -> None:
    ref = open_run(ledger)
    answers = []
    for task_id in ("t2", "t3", "t1"):
        held = lease(ledger, ref, task_id)
        ledger.decide(held, Solution())
        answers.append(ledger.report(held).finish)
    assert answers == [False, False, True]
    state = ledger.run(ref)
    assert state is not None
    assert state.status is RunStatus.FINISHING


def test_every_report_of_a_final_run_is_told_to_drain_it(ledger: Ledger) -> None:
    ref = open_final(ledger)
    for task_id in ("t2", "t3", "t1"):
        held = lease(ledger, ref, task_id)
        ledger.decide(held, Solution())
        assert ledger.report(held) == Report(finish=True)


def test_a_repeated_report_gets_the_same_answer_even_after_the_seal(ledger: Ledger) -> None:
    ref = open_run(ledger, a_run(tasks=2))
    held = [lease(ledger, ref, task_id) for task_id in ("t1", "t2")]
    for one in held:
        ledger.decide(one, Solution())
    assert [ledger.report(one).finish for one in held] == [False, True]
    assert [ledger.report(one).finish for one in held] == [False, True]
    ledger.sealed(lease_run(ledger, ref), RunStatus.FINISHED, Scorecard())
    assert [ledger.report(one).finish for one in held] == [False, True]


def test_of_many_reports_at_once_exactly_one_is_told_to_finish(patient: Patient) -> None:
    ledger = Ledger(patient)
    ref = open_run(ledger, a_run(tasks=30))
    start = threading.Barrier(10)

    def work(worker: int) -> int:
        start.wait()
        told = 0
        for number in range(worker * 3 + 1, worker * 3 + 4):
            held = lease(ledger, ref, f"t{number}", owner=f"w{worker}")
            ledger.decide(held, Solution(answer=number))
            told += ledger.report(held).finish
        return told

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(work, range(10))) == 1


def test_of_many_workers_that_want_one_task_exactly_one_gets_it(patient: Patient) -> None:
    ledger = Ledger(patient)
    ref = open_run(ledger)
    start = threading.Barrier(16)

    def want(worker: int) -> bool:
        start.wait()
        return ledger.lease(ref, "t1", f"w{worker}", LEASE) is not None

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(want, range(16))) == 1


def test_a_come_back_waits_with_its_state_and_costs_no_attempt(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    for round_ in range(1, 8):
        held = lease(ledger, ref, owner=f"w{round_}")
        assert (held.attempt, held.deliveries) == (1, round_)
        ledger.come_back(held, 5.0, {"round": round_})
        ledger.come_back(held, 5.0, {"round": round_})
        assert ledger.wake_due() == []
        clock.advance(5)
        assert ledger.wake_due() == [(ref, "t1")]
    assert lease(ledger, ref, owner="last").state == {"round": 7}


def test_an_infrastructure_failure_waits_and_costs_no_attempt(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, attempts=1)
    ledger.come_back(lease(ledger, ref, owner="w0"), 0, {"kept": "state"})
    ledger.wake_due()
    for round_ in range(1, 8):
        held = lease(ledger, ref, owner=f"w{round_}")
        assert held.attempt == 1
        ledger.wait(held, 2.0, "the model does not answer")
        assert ledger.task(ref, "t1").reason == "the model does not answer"
        clock.advance(2)
        ledger.wake_due()
    assert lease(ledger, ref, owner="last").state == {"kept": "state"}


def test_a_task_that_left_its_lease_cannot_be_reported_under_it(ledger: Ledger) -> None:
    ref = open_run(ledger)
    held = lease(ledger, ref)
    ledger.decide(held, Solution())
    ledger.wait(held, 1.0, "platform is down")
    with pytest.raises(LeaseLost):
        ledger.report(held)


@pytest.mark.parametrize("after", [-1.0, math.nan, math.inf])
def test_what_is_no_number_of_seconds_is_refused(ledger: Ledger, after: float) -> None:
    held = lease(ledger, open_run(ledger))
    with pytest.raises(UsageError, match="seconds"):
        ledger.come_back(held, after, {})


def test_solver_faults_use_up_the_attempts_with_growing_pauses(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, a_run(tasks=1), attempts=3)
    for attempt in (1, 2):
        held = lease(ledger, ref, owner=f"w{attempt}")
        assert held.attempt == attempt
        assert ledger.fault(held, f"boom {attempt}") == Fault(TaskStatus.WAITING, finish=False)
        assert ledger.task(ref, "t1").due == clock.now / 1e6 + attempt
        clock.advance(attempt)
        ledger.wake_due()

    held = lease(ledger, ref, owner="w3")
    assert ledger.fault(held, "boom 3") == Fault(TaskStatus.GAVE_UP, finish=True)

    state = ledger.run(ref)
    assert state is not None
    assert state.status is RunStatus.FINISHING
    assert state.failures == {"t1": "boom 3"}


def test_a_repeated_fault_counts_once(ledger: Ledger) -> None:
    ref = open_run(ledger, a_run(tasks=1), attempts=2)
    held = lease(ledger, ref)
    assert ledger.fault(held, "boom") == ledger.fault(held, "boom")
    assert ledger.task(ref, "t1").faults == 1


def test_a_repeated_last_fault_is_told_to_finish_again(ledger: Ledger) -> None:
    ref = open_run(ledger, a_run(tasks=1), attempts=1)
    held = lease(ledger, ref)
    expected = Fault(TaskStatus.GAVE_UP, finish=True)
    assert [ledger.fault(held, "boom"), ledger.fault(held, "boom")] == [expected, expected]


def test_a_fault_in_a_final_run_that_leaves_attempts_sends_no_finish_job(ledger: Ledger) -> None:
    assert not ledger.fault(lease(ledger, open_final(ledger)), "boom").finish


def test_a_task_with_a_decision_is_submitted_even_when_its_attempts_are_used_up(ledger: Ledger) -> None:
    ref = open_run(ledger, attempts=1)
    held = lease(ledger, ref)
    decided = ledger.decide(held, Solution(answer=5))
    assert ledger.fault(held, "an effect could not be carried out").status is TaskStatus.SOLVED
    assert ledger.unsubmitted(lease_run(ledger, ref)) == {"t1": (TaskStatus.SOLVED, decided)}


def test_reasons_are_bounded_and_storable(ledger: Ledger) -> None:
    ref = open_run(ledger)
    ledger.fault(lease(ledger, ref), "\ud800" + "x" * 9999)
    reason = ledger.task(ref, "t1").reason
    assert reason is not None
    assert len(reason) == 500
