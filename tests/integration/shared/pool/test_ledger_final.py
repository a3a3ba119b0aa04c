"""What the ledger does for a final run: one request at a time, worth first, time kept for the end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from shared.models import Kind, Receipt, RunRef, RunRequest, RunStatus, Scorecard
from shared.pool.ledger import Ledger
from shared.pool.timing import ASSUMED_SUBMIT
from tests.support.ledger import LEASE, HandClock, a_run, lease, lease_run, solve

FINAL = RunRequest(kind=Kind.FINAL)


def open_final(ledger: Ledger, seconds: float, tasks: int = 4, slack: float = 10.0) -> RunRef:
    run = a_run("run_final", tasks, kind=Kind.FINAL, seconds_left=seconds)
    request_id, mine = ledger.request_final(FINAL)
    assert mine
    assert ledger.opened(request_id, run, FINAL, slack=slack)
    return run.ref


def test_of_many_requests_for_the_final_run_one_is_taken(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: ledger.request_final(FINAL), range(16)))
    assert sum(mine for _, mine in answers) == 1
    assert len({request_id for request_id, _ in answers}) == 1
    assert len(ledger.openings()) == 1


def test_while_a_final_run_is_played_no_other_is_requested(ledger: Ledger) -> None:
    ref = open_final(ledger, 1800.0)
    state = ledger.run(ref)
    assert state is not None
    assert ledger.request_final(FINAL) == (state.request_id, False)


def test_other_platforms_dev_runs_and_ended_ones_do_not_stand_in_its_way(ledger: Ledger) -> None:
    ledger.request(RunRequest())
    ledger.request_final(FINAL.model_copy(update={"platform": "aren"}))
    ref = open_final(ledger, 1800.0)
    ledger.sealed(lease_run(ledger, ref), RunStatus.FINISHED, Scorecard())
    assert ledger.request_final(FINAL)[1]


def test_a_refused_request_makes_room_for_the_next(ledger: Ledger) -> None:
    request_id, _ = ledger.request_final(FINAL)
    ledger.reject(request_id, "the window is closed")
    assert ledger.request_final(FINAL)[1]


def test_tasks_are_handed_out_by_rank_and_shown_in_the_runs_order(ledger: Ledger) -> None:
    run = a_run(tasks=3)
    ledger.opened(ledger.request(RunRequest()), run, RunRequest(), ranks=["t3", "t1", "t2"])
    assert ledger.take_unsent(run.ref, 2) == ["t3", "t1"]
    assert [task.task_id for task in ledger.tasks(run.ref)] == ["t1", "t2", "t3"]


def test_the_end_begins_earlier_the_more_is_left_to_submit(ledger: Ledger, clock: HandClock) -> None:
    ref = open_final(ledger, 1000.0)
    margin = 10.0 + 4 * ASSUMED_SUBMIT
    clock.advance(1000.0 - margin - 0.001)
    assert ledger.finishing() == []
    assert not ledger.due_to_seal(ref)
    assert lease(ledger, ref, "t1").seconds_left < 0.002
    clock.advance(0.002)
    assert ledger.finishing() == [ref]
    assert ledger.lease(ref, "t2", "w1", LEASE) is None
    assert ledger.due_to_seal(ref)


def test_submitted_tasks_need_no_time_any_more(ledger: Ledger, clock: HandClock) -> None:
    ref = open_final(ledger, 1000.0)
    solve(ledger, ref, "t1", "t2", "t3")
    held = lease_run(ledger, ref)
    ledger.unsubmitted(held)
    for task_id in ("t1", "t2", "t3"):
        ledger.submitted(held, Receipt(task_id=task_id))
    clock.advance(1000.0 - 10.0 - ASSUMED_SUBMIT - 0.001)
    assert not ledger.due_to_seal(ref)
    clock.advance(0.002)
    assert ledger.due_to_seal(ref)


def test_slow_submissions_bring_the_end_forward_within_bounds(ledger: Ledger, clock: HandClock) -> None:
    ref = open_final(ledger, 1000.0)
    held = lease_run(ledger, ref)
    for _ in range(30):
        ledger.paced(held, 8.0)
    clock.advance(1000.0 - 10.0 - 4 * 8.0 + 0.1)
    assert ledger.due_to_seal(ref)


def test_one_slow_answer_moves_the_end_a_little(ledger: Ledger, clock: HandClock) -> None:
    ref = open_final(ledger, 1000.0)
    ledger.paced(lease_run(ledger, ref), 8.0)
    clock.advance(1000.0 - 10.0 - 4 * 8.0)
    assert not ledger.due_to_seal(ref)


def test_at_most_a_quarter_of_the_time_is_kept(ledger: Ledger, clock: HandClock) -> None:
    ref = open_final(ledger, 40.0, slack=30.0)
    clock.advance(29.9)
    assert not ledger.due_to_seal(ref)
    clock.advance(0.2)
    assert ledger.due_to_seal(ref)
