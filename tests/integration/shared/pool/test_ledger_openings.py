"""From a request to an open run."""

from __future__ import annotations

import redis

from shared.models import Kind, Receipt, RunRef, RunRequest, RunStatus, TaskStatus
from shared.pool import keys
from shared.pool.ledger import Ledger
from tests.support.ledger import HandClock, a_run, lease, open_run


def test_a_request_is_an_opening_until_its_run_is_open(ledger: Ledger, clock: HandClock) -> None:
    request = RunRequest(seed=7, solver="baseline")
    first = ledger.request(request)
    clock.advance(5)
    second = ledger.request(request)
    at = clock.now / 1e6
    assert [(o.request_id, o.at, o.request) for o in ledger.openings()] == [
        (first, at - 5, request),
        (second, at, request),
    ]

    assert ledger.opened(first, a_run(), request)

    assert [opening.request_id for opening in ledger.openings()] == [second]


def test_an_opened_run_is_solving_with_all_tasks_queued_in_its_order(ledger: Ledger) -> None:
    ref = open_run(ledger, a_run(tasks=12))
    state = ledger.run(ref)
    assert state is not None
    assert state.status is RunStatus.SOLVING
    assert state.counts == {TaskStatus.QUEUED: 12}
    assert ledger.refs() == [ref]
    assert [task.task_id for task in ledger.tasks(ref)] == [f"t{number}" for number in range(1, 13)]
    assert ledger.take_unsent(ref, 3) == ["t1", "t2", "t3"]


def test_without_a_deadline_of_its_own_a_run_has_the_budget_of_its_request(ledger: Ledger) -> None:
    state = ledger.run(open_run(ledger, budget_seconds=600.0))
    assert state is not None
    assert state.seconds_left == 600.0


def test_the_platforms_seconds_become_a_deadline_on_redis_clock(ledger: Ledger, clock: HandClock) -> None:
    ref = open_run(ledger, a_run(kind=Kind.FINAL, seconds_left=1800.0), budget_seconds=60.0)
    clock.advance(1000)
    state = ledger.run(ref)
    assert state is not None
    assert state.seconds_left == 800.0
    assert state.deadline - state.opened_at == 1800.0


def test_a_run_whose_time_was_up_already_is_opened_without_any_left(ledger: Ledger) -> None:
    state = ledger.run(open_run(ledger, a_run(kind=Kind.FINAL, seconds_left=-3.0)))
    assert state is not None
    assert state.seconds_left == 0.0


def test_opening_a_run_again_changes_nothing(ledger: Ledger) -> None:
    request = RunRequest()
    request_id = ledger.request(request)
    assert ledger.opened(request_id, a_run(), request)
    held = lease(ledger, a_run().ref)

    assert ledger.opened(request_id, a_run(), request)

    assert ledger.task(held.ref, "t1").status is TaskStatus.LEASED
    ledger.renew(held, 10)


def test_a_run_belongs_to_the_request_that_claimed_it_first(ledger: Ledger) -> None:
    request, run = RunRequest(), a_run()
    first, second = ledger.request(request), ledger.request(request)
    assert ledger.claim(run.ref, first)
    assert ledger.claim(run.ref, first)
    assert not ledger.claim(run.ref, second)

    assert not ledger.opened(second, run, request)
    assert ledger.run(run.ref) is None
    assert ledger.opened(first, run, request)


def test_the_late_answer_of_a_rejected_request_still_brings_its_run(ledger: Ledger) -> None:
    request = RunRequest()
    request_id = ledger.request(request)
    ledger.reject(request_id, "no answer for a minute")

    assert ledger.opened(request_id, a_run(), request)

    assert ledger.refs() == [a_run().ref]


def test_a_rejected_request_is_remembered_with_its_reason(ledger: Ledger, clock: HandClock) -> None:
    request = RunRequest(kind=Kind.FINAL)
    request_id = ledger.request(request)

    ledger.reject(request_id, "final window is closed")
    ledger.reject(request_id, "a repeat after a lost answer")

    assert ledger.openings() == []
    (rejection,) = ledger.rejections()
    assert rejection.request_id == request_id
    assert rejection.request == request
    assert rejection.reason == "final window is closed"
    assert rejection.at == clock.now / 1e6


def test_a_rejected_request_gives_back_its_claims_but_never_that_of_an_open_run(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    request = RunRequest()
    request_id = ledger.request(request)
    assert ledger.claim(RunRef(platform="arena", run_id="run_never"), request_id)
    ledger.reject(request_id, "refused")
    assert redis_client.hlen(keys.CLAIMS) == 0

    late = ledger.request(request)
    assert ledger.opened(late, a_run(), request)
    ledger.reject(late, "too late for a rejection")
    assert redis_client.hgetall(keys.CLAIMS) == {str(a_run().ref): late}


def test_only_the_last_fifty_rejections_are_kept(ledger: Ledger) -> None:
    for number in range(60):
        ledger.reject(ledger.request(RunRequest(seed=number)), "refused")
    assert [rejection.request.seed for rejection in ledger.rejections()] == list(range(59, 9, -1))


def test_tasks_that_the_platform_shows_as_submitted_are_not_solved_again(ledger: Ledger) -> None:
    request, run = RunRequest(), a_run()
    receipts = {"t2": Receipt(task_id="t2")}
    assert ledger.opened(ledger.request(request), run, request, submitted=receipts)

    assert ledger.take_unsent(run.ref, 9) == ["t1", "t3"]
    assert ledger.task(run.ref, "t2").receipt == receipts["t2"]
    state = ledger.run(run.ref)
    assert state is not None
    assert state.submitted == 1


def test_a_run_with_nothing_left_to_solve_is_finishing_at_once(ledger: Ledger) -> None:
    request, run = RunRequest(), a_run(tasks=1)
    receipts = {"t1": Receipt(task_id="t1")}
    assert ledger.opened(ledger.request(request), run, request, submitted=receipts)
    assert ledger.finishing() == [run.ref]
