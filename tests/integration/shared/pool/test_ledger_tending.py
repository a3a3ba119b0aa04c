"""What the tender does for runs that nobody moves."""

from __future__ import annotations

from shared.models import RunStatus, Scorecard, Solution, TaskStatus
from shared.pool import keys
from shared.pool.connection import Patient
from shared.pool.ledger import Ledger
from shared.pool.ledger.tending import ASK_PAUSE
from tests.support.ledger import LEASE, HandClock, a_run, lease, lease_run, open_final, open_run, solve


def kill(ledger: Ledger, clock: HandClock, *held: object) -> None:
    """Whoever holds leases falls silent until they run out."""
    clock.advance(LEASE)
    ledger.expire_leases(grace=False)


def test_one_worker_tends_until_it_falls_silent(ledger: Ledger, clock: HandClock) -> None:
    assert ledger.take_tending("a", 3)
    assert not ledger.take_tending("b", 3)
    clock.advance(2)
    assert ledger.take_tending("a", 3)
    clock.advance(2)
    assert not ledger.take_tending("b", 3)
    clock.advance(1)
    assert ledger.take_tending("b", 3)
    assert not ledger.take_tending("a", 3)


def test_a_silent_workers_task_is_queued_again_and_gets_a_new_job(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    ledger.take_unsent(ref, 9)
    lease(ledger, ref)
    clock.advance(LEASE - 0.000001)
    assert ledger.expire_leases(grace=False) == []
    clock.advance(0.000001)
    assert ledger.expire_leases(grace=False) == [(ref, "t1", TaskStatus.QUEUED)]
    assert ledger.expire_leases(grace=False) == []
    assert ledger.take_unsent(ref, 9) == ["t1"]


def test_a_renewed_lease_is_not_taken_back(ledger: Ledger, clock: HandClock) -> None:
    held = lease(ledger, open_run(ledger))
    clock.advance(LEASE)
    ledger.renew(held, LEASE)
    assert ledger.expire_leases(grace=False) == []


def test_what_a_dead_worker_held_is_free_at_once_and_nothing_else(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    lease(ledger, ref, "t1", owner="solve1@here-7-a")
    lease(ledger, ref, "t2", owner="solve1@here-77-b")
    ledger.decide(lease(ledger, ref, "t3", owner="solve1@here-7-c"), Solution())
    ledger.free("solve1@here-7")
    assert ledger.expire_leases(grace=False) == [(ref, "t1", TaskStatus.QUEUED)]
    assert ledger.task(ref, "t1").kills == 1
    assert ledger.take_unsent(ref, 9) == ["t1"]
    clock.advance(LEASE)
    assert [task_id for _, task_id, _ in ledger.expire_leases(grace=False)] == ["t2", "t3"], (
        "effects may come"
    )


def test_a_run_whose_finalizer_is_dead_is_asked_for_at_once(ledger: Ledger) -> None:
    ref = open_run(ledger)
    solve(ledger, ref, "t1", "t2", "t3")
    held = lease_run(ledger, ref, owner="finish@here-7-a")
    ledger.free("finish@here-8")
    assert ledger.finishing() == []
    ledger.free("finish@here-7")
    assert ledger.finishing() == [ref]
    assert lease_run(ledger, ref, owner="finish@here-9-b").fence > held.fence


def test_a_dead_tender_is_replaced_at_once(ledger: Ledger) -> None:
    assert ledger.take_tending("solve1@here-7", 3)
    ledger.free("solve1@here-8")
    assert not ledger.take_tending("solve2@here-9", 3)
    ledger.free("solve1@here-7")
    assert ledger.take_tending("solve2@here-9", 3)


def test_what_is_renewed_or_put_off_after_the_tenders_look_is_left_alone(
    ledger: Ledger, patient: Patient, clock: HandClock
) -> None:
    ref = open_run(ledger)
    lease(ledger, ref, "t1")
    ledger.wait(lease(ledger, ref, "t2"), 1, "down")
    args: tuple[int, str] = (clock.now, str(ref))
    assert patient.script("ledger/expire")(keys.ledger(ref), [*args, "t1"]) is None
    assert patient.script("ledger/wake")(keys.ledger(ref), [*args, "t2"]) == 0
    assert ledger.task(ref, "t1").status is TaskStatus.LEASED
    assert ledger.task(ref, "t2").status is TaskStatus.WAITING


def test_after_an_outage_each_lease_gets_one_more_lease_time(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    held = lease(ledger, ref)
    clock.advance(60)
    assert ledger.expire_leases(grace=True) == []
    clock.advance(LEASE - 1)
    assert ledger.expire_leases(grace=False) == []
    ledger.renew(held, LEASE)
    ledger.decide(held, Solution())
    ledger.report(held)


def test_a_lease_that_runs_out_after_an_outage_is_nobodys_fault(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, attempts=1, task_seconds=30.0)
    for outage in range(5):
        lease(ledger, ref, owner=f"w{outage}")
        clock.advance(40)  # past the task's own deadline too
        ledger.expire_leases(grace=True)
        clock.advance(LEASE)
        assert ledger.expire_leases(grace=False) == [(ref, "t1", TaskStatus.QUEUED)]
    task = ledger.task(ref, "t1")
    assert (task.kills, task.faults, task.deliveries) == (0, 0, 5)


def test_the_grace_ends_with_the_next_renewal(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    held = lease(ledger, ref)
    ledger.expire_leases(grace=True)
    ledger.renew(held, LEASE)
    kill(ledger, clock, held)
    assert ledger.task(ref, "t1").kills == 1


def test_a_solver_that_never_returns_is_at_fault(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, attempts=2, task_seconds=30.0)
    for status in (TaskStatus.QUEUED, TaskStatus.GAVE_UP):
        held = lease(ledger, ref, owner=f"w{status}")
        for _ in range(3):
            clock.advance(9)
            ledger.renew(held, LEASE)
        clock.advance(LEASE)
        assert ledger.expire_leases(grace=False) == [(ref, "t1", status)]
    task = ledger.task(ref, "t1")
    assert (task.faults, task.kills) == (2, 0)
    assert task.reason == "no answer by the deadline of the task"


def test_deaths_of_workers_use_up_no_attempt_until_the_task_was_in_too_many(
    ledger: Ledger, clock: HandClock
) -> None:
    ref = open_run(ledger, attempts=2)
    for death in (1, 2):
        held = lease(ledger, ref, owner=f"w{death}")
        assert held.attempt == 1
        clock.advance(LEASE)
        assert ledger.expire_leases(grace=False) == [(ref, "t1", TaskStatus.QUEUED)]
    lease(ledger, ref, owner="w3")
    clock.advance(LEASE)
    assert ledger.expire_leases(grace=False) == [(ref, "t1", TaskStatus.GAVE_UP)]
    assert ledger.task(ref, "t1").reason == "its worker fell silent 3 times"


def test_a_task_that_kills_its_worker_does_not_take_its_neighbours_along(
    ledger: Ledger, clock: HandClock
) -> None:
    """Three tasks die together twice; then each goes alone, and only the one that kills gives up."""
    ref = open_run(ledger, attempts=2)
    for _ in range(2):
        for task_id in ledger.take_unsent(ref, 9):
            lease(ledger, ref, task_id, owner=f"{task_id}-{clock.now}")
        kill(ledger, clock)

    gave_up, solved = [], []
    while taken := ledger.take_unsent(ref, 9):
        (alone,) = taken
        assert ledger.take_unsent(ref, 9) == []
        held = lease(ledger, ref, alone, owner=f"{alone}-alone")
        assert ledger.take_unsent(ref, 9) == []
        if alone == "t1":
            kill(ledger, clock)
            gave_up.append(alone)
        else:
            ledger.decide(held, Solution())
            ledger.report(held)
            solved.append(alone)

    assert (gave_up, solved) == (["t1"], ["t2", "t3"])
    assert ledger.task(ref, "t1").status is TaskStatus.GAVE_UP
    state = ledger.run(ref)
    assert state is not None
    assert state.status is RunStatus.FINISHING


def test_a_suspect_that_waits_lets_the_next_one_go(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, attempts=1)
    for task_id in ledger.take_unsent(ref, 2):
        lease(ledger, ref, task_id)
    kill(ledger, clock)
    assert ledger.take_unsent(ref, 9) == ["t1", "t3"]
    ledger.wait(lease(ledger, ref, "t1", owner="w2"), 60, "the model is down")
    assert ledger.take_unsent(ref, 9) == ["t2"]


def test_a_task_with_a_decision_is_submitted_even_if_it_kills(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, attempts=1)
    for death in (1, 2):
        ledger.decide(lease(ledger, ref, owner=f"w{death}"), Solution(answer=1))
        kill(ledger, clock)
    assert ledger.task(ref, "t1").status is TaskStatus.SOLVED


def test_giving_up_counts_as_a_report_and_closes_the_run(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, a_run(tasks=2), attempts=1)
    solve(ledger, ref, "t1")
    for death in (1, 2):
        lease(ledger, ref, "t2", owner=f"w{death}")
        kill(ledger, clock)
    assert ledger.finishing() == [ref]


def test_waiting_tasks_are_woken_when_due_and_not_before(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    ledger.take_unsent(ref, 9)
    ledger.come_back(lease(ledger, ref, "t1"), 5, {})
    ledger.wait(lease(ledger, ref, "t2"), 9, "down")
    clock.advance(4.999999)
    assert ledger.wake_due() == []
    clock.advance(0.000001)
    assert ledger.wake_due() == [(ref, "t1")]
    assert ledger.take_unsent(ref, 9) == ["t1"]
    clock.advance(4)
    assert ledger.wake_due() == [(ref, "t2")]
    assert ledger.wake_due() == []


def test_a_job_that_nobody_took_is_named_after_a_while_and_sent_again(
    ledger: Ledger, clock: HandClock
) -> None:
    ref = open_run(ledger)
    assert ledger.take_unsent(ref, 2) == ["t1", "t2"]
    lease(ledger, ref, "t2")
    assert ledger.sent() == 1
    clock.advance(9)
    assert ledger.stale_sent(10) == []
    clock.advance(1)
    assert ledger.stale_sent(10) == [(ref, "t1")]
    ledger.resend(ref, "t1")
    ledger.resend(ref, "t1")
    ledger.resend(ref, "t2")
    assert ledger.sent() == 0
    assert ledger.take_unsent(ref, 9) == ["t1", "t3"]


def test_a_finishing_run_without_a_finalizer_is_asked_for_again_after_a_pause(
    ledger: Ledger, clock: HandClock
) -> None:
    ref = open_run(ledger)
    solve(ledger, ref, "t1", "t2", "t3")
    assert ledger.finishing() == [], "the last report was told to send the job"
    clock.advance(ASK_PAUSE)
    assert ledger.finishing() == [ref]
    assert ledger.finishing() == []
    held = lease_run(ledger, ref)
    clock.advance(ASK_PAUSE)
    assert ledger.finishing() == [], "somebody drains it"
    clock.advance(LEASE)
    assert ledger.finishing() == [ref], "who drained it fell silent"
    ledger.sealed(held, RunStatus.FINISHED, Scorecard())
    clock.advance(LEASE)
    assert ledger.finishing() == []


def test_a_nearing_deadline_asks_for_a_drain(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, budget_seconds=100.0)
    clock.advance(99)
    assert ledger.finishing() == []
    clock.advance(1)
    assert ledger.finishing() == [ref]


def test_reports_that_are_told_nothing_do_not_put_off_the_drain_at_the_deadline(
    ledger: Ledger, clock: HandClock
) -> None:
    ref = open_run(ledger, budget_seconds=100.0)
    clock.advance(99)
    solve(ledger, ref, "t1")
    clock.advance(1)
    assert ledger.finishing() == [ref]


def test_an_undrained_report_of_a_final_run_asks_for_a_drain(ledger: Ledger, clock: HandClock) -> None:
    ref = open_final(ledger)
    clock.advance(ASK_PAUSE)
    assert ledger.finishing() == []
    solve(ledger, ref, "t1")
    clock.advance(ASK_PAUSE)
    assert ledger.finishing() == [ref]
    held = lease_run(ledger, ref)
    ledger.unsubmitted(held)
    ledger.release_run(held)
    clock.advance(ASK_PAUSE)
    assert ledger.finishing() == []
