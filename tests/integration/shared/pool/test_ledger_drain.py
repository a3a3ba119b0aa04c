"""What the finalizer does with a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shared.errors import LeaseLost, UsageError
from shared.models import Grade, Kind, Receipt, RunRef, RunStatus, Scorecard, Solution, TaskStatus
from shared.pool.ledger import Ledger, RunLease, RunState
from tests.support.ledger import LEASE, HandClock, a_run, lease, lease_run, open_final, open_run, solve


def read(ledger: Ledger, ref: RunRef) -> RunState:
    state = ledger.run(ref)
    assert state is not None
    return state


def submit(ledger: Ledger, held: RunLease, *task_ids: str) -> None:
    ledger.submitting(held, task_ids)
    for task_id in task_ids:
        ledger.submitted(held, Receipt(task_id=task_id))


def test_a_run_is_drained_by_one_at_a_time(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    first = lease_run(ledger, ref, "f1")
    assert ledger.lease_run(ref, "f2", LEASE) is None
    assert ledger.lease_run(ref, "f1", LEASE) == first
    clock.advance(LEASE)
    assert lease_run(ledger, ref, "f2").fence > first.fence


def test_a_renewed_run_lease_is_not_taken_over(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger)
    held = lease_run(ledger, ref)
    clock.advance(LEASE - 1)
    ledger.renew_run(held, LEASE)
    clock.advance(LEASE - 1)
    assert ledger.lease_run(ref, "f2", LEASE) is None
    assert read(ledger, ref).finisher == "f1"


def test_every_step_of_an_older_drain_is_refused_and_changes_nothing(
    ledger: Ledger, clock: HandClock
) -> None:
    ref = open_run(ledger)
    solve(ledger, ref, "t1")
    old = lease_run(ledger, ref, "f1")
    clock.advance(LEASE)
    lease_run(ledger, ref, "f2")
    before = (read(ledger, ref), ledger.tasks(ref))

    steps: list[Callable[[], object]] = [
        lambda: ledger.renew_run(old, 99),
        lambda: ledger.unsubmitted(old),
        lambda: ledger.submitting(old, ["t1"]),
        lambda: ledger.submitted(old, Receipt(task_id="t1")),
        lambda: ledger.sealed(old, RunStatus.FINISHED, Scorecard()),
        lambda: ledger.failed(old, "old"),
    ]
    for step in steps:
        with pytest.raises(LeaseLost):
            step()
    assert not ledger.release_run(old)

    assert (read(ledger, ref), ledger.tasks(ref)) == before


def test_a_report_during_a_drain_is_not_missed(ledger: Ledger) -> None:
    ref = open_final(ledger)
    solve(ledger, ref, "t1")
    held = lease_run(ledger, ref)
    submit(ledger, held, *ledger.unsubmitted(held))

    solve(ledger, ref, "t2")

    assert ledger.release_run(held)
    assert list(ledger.unsubmitted(held)) == ["t2"]
    assert not ledger.release_run(held)


def test_a_second_finish_job_makes_the_first_go_round_once_more(ledger: Ledger) -> None:
    ref = open_run(ledger)
    held = lease_run(ledger, ref, "f1")
    ledger.unsubmitted(held)
    assert ledger.lease_run(ref, "f2", LEASE) is None
    assert ledger.release_run(held)
    ledger.unsubmitted(held)
    assert not ledger.release_run(held)
    assert lease_run(ledger, ref, "f2")


def test_a_repeated_release_gets_the_same_answer(ledger: Ledger) -> None:
    ref = open_run(ledger)
    held = lease_run(ledger, ref)
    solve(ledger, ref, "t1")
    assert [ledger.release_run(held), ledger.release_run(held)] == [True, True]
    ledger.unsubmitted(held)
    assert [ledger.release_run(held), ledger.release_run(held)] == [False, False]


def test_what_a_dead_drain_was_submitting_is_handed_to_the_next_as_such(
    ledger: Ledger, clock: HandClock
) -> None:
    ref = open_run(ledger)
    solve(ledger, ref, "t1", "t2")
    dead = lease_run(ledger, ref, "f1")
    ledger.submitting(dead, ["t1"])
    clock.advance(LEASE)
    assert ledger.unsubmitted(lease_run(ledger, ref, "f2")) == {
        "t1": (TaskStatus.SUBMITTING, Solution(answer="t1")),
        "t2": (TaskStatus.SOLVED, Solution(answer="t2")),
    }


def test_the_first_receipt_of_a_task_stays(ledger: Ledger) -> None:
    ref = open_run(ledger)
    solve(ledger, ref, "t1")
    held = lease_run(ledger, ref)
    ledger.submitting(held, ["t1"])
    receipt = Receipt(task_id="t1", grade=Grade(score=0.79, feedback=("Outcome ✓",)))
    ledger.submitted(held, receipt)
    ledger.submitted(held, Receipt(task_id="t1", accepted=False, reason="task already submitted"))
    ledger.submitting(held, ["t1"])
    task = ledger.task(ref, "t1")
    assert (task.status, task.receipt) == (TaskStatus.SUBMITTED, receipt)


def test_a_refused_submission_is_a_failure_with_the_platforms_reason(ledger: Ledger) -> None:
    ref = open_run(ledger)
    solve(ledger, ref, "t1", "t2")
    held = lease_run(ledger, ref)
    ledger.submitted(held, Receipt(task_id="t1", accepted=False, reason="deadline passed"))
    ledger.submitted(held, Receipt(task_id="t2"))
    state = read(ledger, ref)
    assert state.failures == {"t1": "deadline passed"}
    assert state.submitted == 1


def test_a_task_that_is_not_solved_cannot_be_submitted(ledger: Ledger) -> None:
    ref = open_run(ledger)
    held = lease_run(ledger, ref)
    submit(ledger, held, "t1")
    assert ledger.task(ref, "t1").status is TaskStatus.QUEUED


def test_a_run_is_due_once_all_have_reported_and_are_submitted(ledger: Ledger) -> None:
    ref = open_run(ledger)
    held = lease_run(ledger, ref)
    solve(ledger, ref, "t1", "t2")
    submit(ledger, held, "t1", "t2")
    assert not ledger.due_to_seal(ref)
    solve(ledger, ref, "t3")
    assert not ledger.due_to_seal(ref)
    submit(ledger, held, "t3")
    assert ledger.due_to_seal(ref)


def test_a_run_is_due_when_its_time_is_up_and_leases_nothing_from_then_on(
    ledger: Ledger, clock: HandClock
) -> None:
    ref = open_run(ledger, budget_seconds=100.0)
    clock.advance(99)
    assert not ledger.due_to_seal(ref)
    clock.advance(1)
    assert ledger.due_to_seal(ref)
    assert read(ledger, ref).status is RunStatus.FINISHING
    assert ledger.lease(ref, "t1", "w1", LEASE) is None
    assert ledger.take_unsent(ref, 9) == []


def test_a_late_report_is_drained_while_time_is_left(ledger: Ledger, clock: HandClock) -> None:
    ref = open_final(ledger, seconds_left=100.0, slack=10.0)
    task = lease(ledger, ref)
    clock.advance(90)
    assert ledger.due_to_seal(ref)
    held = lease_run(ledger, ref)
    ledger.unsubmitted(held)
    ledger.decide(task, Solution())
    assert ledger.report(task).finish
    assert ledger.release_run(held)
    assert list(ledger.unsubmitted(held)) == ["t1"]


def test_closing_by_hand_ends_the_time_of_a_run(ledger: Ledger) -> None:
    ref = open_run(ledger)
    assert ledger.close(ref) is Kind.DEV
    assert ledger.close(ref) is Kind.DEV
    assert read(ledger, ref).status is RunStatus.FINISHING
    assert ledger.due_to_seal(ref)
    assert ledger.lease(ref, "t1", "w1", LEASE) is None
    assert ledger.finishing() == [ref]


def test_closing_an_unknown_run_is_an_error(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="run_gone"):
        ledger.close(a_run("run_gone").ref)


def test_after_the_seal_nothing_changes_any_more(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, a_run(tasks=5))
    solve(ledger, ref, "t1")
    ledger.wait(lease(ledger, ref, "t3"), 5, "the model is down")
    ledger.take_unsent(ref, 1)
    working = lease(ledger, ref, "t2")
    held = lease_run(ledger, ref)
    ledger.sealed(held, RunStatus.FINISHED, Scorecard(accuracy=0.5))
    before = (read(ledger, ref), ledger.tasks(ref))

    late: list[Callable[[], object]] = [
        lambda: ledger.renew(working, LEASE),
        lambda: ledger.decide(working, Solution()),
        lambda: ledger.report(working),
        lambda: ledger.come_back(working, 1, {}),
        lambda: ledger.fault(working, "late"),
        lambda: ledger.unsubmitted(held),
        lambda: ledger.submitting(held, ["t1"]),
        lambda: ledger.submitted(held, Receipt(task_id="t1")),
        lambda: ledger.sealed(held, RunStatus.EXPIRED, Scorecard()),
        lambda: ledger.failed(held, "late"),
    ]
    for step in late:
        with pytest.raises(LeaseLost):
            step()
    assert ledger.lease(ref, "t4", "w4", LEASE) is None
    assert ledger.lease_run(ref, "f2", LEASE) is None
    assert not ledger.release_run(held)
    assert not ledger.due_to_seal(ref)
    ledger.close(ref)
    clock.advance(9999)
    assert ledger.expire_leases(grace=False) == []
    assert ledger.wake_due() == []
    assert ledger.stale_sent(0) == []
    assert ledger.finishing() == []
    assert not ledger.due_to_seal(ref)

    after = (read(ledger, ref), ledger.tasks(ref))
    assert after[1] == before[1]
    assert after[0].model_copy(update={"now": 0.0}) == before[0].model_copy(update={"now": 0.0})


def test_a_repeated_seal_is_the_same_seal(ledger: Ledger) -> None:
    ref = open_run(ledger)
    held = lease_run(ledger, ref)
    card = Scorecard(accuracy=0.62, final_score=0.57)
    ledger.sealed(held, RunStatus.EXPIRED, card)
    ledger.sealed(held, RunStatus.EXPIRED, card)
    state = read(ledger, ref)
    assert (state.status, state.scorecard, state.reason) == (RunStatus.EXPIRED, card, None)


def test_a_run_that_cannot_be_ended_fails_with_its_reason(ledger: Ledger) -> None:
    ref = open_run(ledger)
    ledger.failed(lease_run(ledger, ref), "the platform does not know the run")
    state = read(ledger, ref)
    assert (state.status, state.reason) == (RunStatus.FAILED, "the platform does not know the run")
    assert state.scorecard is None


def test_an_ended_run_says_of_each_task_why_it_was_not_submitted(ledger: Ledger) -> None:
    ref = open_run(ledger)
    solve(ledger, ref, "t1")
    ledger.wait(lease(ledger, ref, "t2"), 99, "the model is down")
    ledger.sealed(lease_run(ledger, ref), RunStatus.EXPIRED, Scorecard())
    assert read(ledger, ref).failures == {
        "t1": "the run ended while it was solved",
        "t2": "the run ended while it was waiting: the model is down",
        "t3": "the run ended while it was queued",
    }


@pytest.mark.parametrize("status", [RunStatus.SOLVING, RunStatus.FAILED, RunStatus.REJECTED])
def test_a_run_is_sealed_as_finished_or_expired_only(ledger: Ledger, status: RunStatus) -> None:
    held = lease_run(ledger, open_run(ledger))
    with pytest.raises(UsageError):
        ledger.sealed(held, status, Scorecard())
