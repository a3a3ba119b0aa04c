"""Draining and sealing, played in this process against a real Redis; tending with a clock that tests move."""

from __future__ import annotations

from collections import Counter

import pytest

from shared.errors import Conflict, NotAuthorised, Unavailable
from shared.models import Run, RunStatus, Solution, TaskStatus
from shared.pool.jobs import QUEUE_FINISH, QUEUE_SOLVE
from shared.pool.pool import Pool
from tests.support.playing import (
    finish_one,
    open_final_toy,
    open_toy,
    solve_one,
    state_of,
    toy_settings,
    wait_for,
)
from tests.support.toy_platform import ToyPlatform
from workers import finish as finishing
from workers.tend import Tender
from workers.worker import Worker

LEASE = 1.0


@pytest.fixture
def worker(redis_url):
    worker = Worker(toy_settings(redis_url, lease_seconds=LEASE), most_stuck=1000)
    yield worker
    worker.close()


@pytest.fixture
def pool(worker) -> Pool:
    return worker.pool


@pytest.fixture
def platform(worker) -> ToyPlatform:
    found = worker.platform("toy")
    assert isinstance(found, ToyPlatform)
    return found


def solve_all(worker: Worker, run: Run) -> None:
    for task in run.tasks:
        solve_one(worker, run, task.task_id)


def submissions(platform: ToyPlatform, run: Run) -> Counter[str]:
    return Counter(task_id for batch in platform.batches(run) for task_id in batch)


def test_any_number_of_finish_jobs_submit_once_and_seal_once(worker, pool, platform):
    run = open_toy(pool, options={"tasks": 4})
    finish_one(worker, run)
    assert state_of(pool, run).status is RunStatus.SOLVING
    solve_all(worker, run)
    for _ in range(3):
        finish_one(worker, run)
    assert state_of(pool, run).status is RunStatus.FINISHED
    assert set(submissions(platform, run).values()) == {1}
    assert [event.name for event in pool.ledger.events(run.ref)].count("finished") == 1


def test_each_report_of_a_final_run_is_drained_at_once(worker, pool, platform):
    run = open_final_toy(pool, options={"tasks": 3, "seconds": 60})
    for number, task in enumerate(run.tasks, 1):
        solve_one(worker, run, task.task_id)
        assert pool.jobs.waiting(QUEUE_FINISH) == number
        finish_one(worker, run)
        assert len(platform.batches(run)) == number


@pytest.mark.parametrize("landed", [True, False])
def test_what_a_dead_drain_left_is_settled_by_looking(worker, pool, platform, landed):
    run = open_toy(pool, options={"tasks": 2})
    solve_all(worker, run)
    dead = pool.ledger.lease_run(run.ref, "dead", 0.05)
    assert dead is not None
    waiting = pool.ledger.unsubmitted(dead)
    pool.ledger.submitting(dead, list(waiting))
    if landed:
        solutions: dict[str, Solution] = {"4": waiting["4"][1]}
        list(platform.submit(run, solutions, None))  # type: ignore[arg-type]
    wait_for(lambda: not state_of(pool, run).finisher, 5, "the dead drain's lease runs out")
    finish_one(worker, run)
    assert state_of(pool, run).submitted == 2
    assert submissions(platform, run) == {task.task_id: 1 for task in run.tasks}


def test_a_platform_that_is_away_leaves_the_run_for_the_next_drain(worker, pool, platform, monkeypatch):
    run = open_toy(pool, options={"tasks": 2})
    solve_all(worker, run)

    def away(*_: object) -> None:
        raise Unavailable("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(platform, "submit", away)
        finish_one(worker, run)
    state = state_of(pool, run)
    assert state.status is RunStatus.FINISHING
    assert state.finisher is None
    finish_one(worker, run)
    assert state_of(pool, run).status is RunStatus.FINISHED


def test_a_platform_that_will_not_close_the_run_ends_it_as_failed(worker, pool, platform, monkeypatch):
    run = open_toy(pool, options={"tasks": 1})
    solve_all(worker, run)

    def no(*_: object) -> None:
        raise Conflict("not like this", status=409)

    monkeypatch.setattr(platform, "finish", no)
    finish_one(worker, run)
    state = state_of(pool, run)
    assert state.status is RunStatus.FAILED
    assert "not like this" in str(state.reason)
    assert state.submitted == 1


def test_a_worker_with_a_wrong_key_fails_a_run_only_when_nobody_closed_it_for_long(
    worker, pool, platform, monkeypatch
):
    run = open_toy(pool, options={"tasks": 1}, budget_seconds=0.5)
    solve_all(worker, run)

    def no(*_: object) -> None:
        raise NotAuthorised("wrong key", status=401)

    monkeypatch.setattr(platform, "finish", no)
    finish_one(worker, run)
    assert state_of(pool, run).status is RunStatus.FINISHING
    wait_for(lambda: state_of(pool, run).seconds_left == 0, 5, "the time is up")
    wait_for(lambda: not state_of(pool, run).finisher, 5, "its lease runs out")
    monkeypatch.setattr(finishing, "GIVE_UP_SECONDS", 0.0)
    finish_one(worker, run)
    assert state_of(pool, run).status is RunStatus.FAILED


def test_a_run_that_nobody_answers_for_fails_long_after_its_time(worker, pool, platform, monkeypatch):
    run = open_toy(pool, options={"tasks": 1}, budget_seconds=0.5)
    solve_all(worker, run)

    def away(*_: object) -> None:
        raise Unavailable("no answer")

    monkeypatch.setattr(platform, "submit", away)
    monkeypatch.setattr(finishing, "GIVE_UP_SECONDS", 0.5)
    finish_one(worker, run)
    assert not state_of(pool, run).status.final
    wait_for(lambda: state_of(pool, run).now > state_of(pool, run).deadline + 0.5, 5, "long after")
    finish_one(worker, run)
    assert state_of(pool, run).status is RunStatus.FAILED
    assert "no answer" in str(state_of(pool, run).reason)


def tender(pool: Pool, name: str = "a", clock=None) -> Tender:
    return Tender(pool, name, LEASE, *([clock] if clock else []))


def test_one_worker_tends_at_a_time(pool):
    assert tender(pool, "a").round()
    assert not tender(pool, "b").round()
    assert tender(pool, "a").round()


def test_tending_sends_tasks_and_their_finish(worker, pool):
    run = open_toy(pool, options={"tasks": 2})
    tender(pool).round()
    assert pool.jobs.waiting(QUEUE_SOLVE) == 2
    solve_all(worker, run)
    jobs = pool.jobs.waiting(QUEUE_FINISH)
    wait_for(lambda: tender(pool).round() and pool.jobs.waiting(QUEUE_FINISH) > jobs, 10, "asked again")


def test_a_lost_worker_s_task_is_queued_again(pool):
    run = open_toy(pool, options={"tasks": 1})
    assert pool.ledger.lease(run.ref, "4", "dead", 0.1)
    wait_for(
        lambda: tender(pool).round() and pool.ledger.task(run.ref, "4").status is TaskStatus.QUEUED,
        5,
        "the task is queued again",
    )
    assert pool.ledger.task(run.ref, "4").kills == 1
    assert pool.jobs.waiting(QUEUE_SOLVE) == 1


def test_after_an_outage_every_lease_gets_one_more_lease_time(pool):
    run = open_toy(pool, options={"tasks": 1})
    assert pool.ledger.lease(run.ref, "4", "alive", 1.0)
    wait_for(lambda: pool.ledger.task(run.ref, "4").lease_until < state_of(pool, run).now, 5, "it ran out")
    ticks = iter([0.0, LEASE, LEASE, LEASE, LEASE + 0.1])
    mine = tender(pool, clock=lambda: next(ticks))
    mine.round()
    assert pool.ledger.task(run.ref, "4").status is TaskStatus.LEASED
    mine.round()
    assert pool.ledger.task(run.ref, "4").status is TaskStatus.LEASED


def test_a_job_is_sent_again_only_if_it_is_old_and_the_queue_lacks_it(pool, monkeypatch):
    monkeypatch.setattr("workers.tend.STALE_SECONDS", 0.0)
    open_toy(pool, options={"tasks": 3})
    tender(pool).round()
    tender(pool).round()
    assert pool.jobs.waiting(QUEUE_SOLVE) == 3
    pool.redis.client.ltrim(QUEUE_SOLVE, 1, -1)
    tender(pool).round()
    assert pool.jobs.waiting(QUEUE_SOLVE) == 3


def test_archived_runs_are_removed_without_a_trace(worker, pool):
    run = open_toy(pool, options={"tasks": 1})
    solve_all(worker, run)
    finish_one(worker, run)
    tender(pool).round()
    assert pool.ledger.run(run.ref) is not None
    pool.ledger.archived(run.ref)
    tender(pool).round()
    assert pool.ledger.run(run.ref) is None
    left = [key for key in pool.redis.client.keys("scrimmage:*") if run.run_id in key]
    assert left == []
