"""Before a run is closed for want of time its platform is asked: Redis's clock may have been set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shared.errors import Unavailable
from shared.models import Run, RunStatus, RunView
from shared.pool import keys
from shared.pool.pool import Pool
from tests.support.playing import finish_one, open_final_toy, open_toy, solve_one, state_of, toy_settings
from workers.worker import Worker


@pytest.fixture
def worker(redis_url: str) -> Iterator[Worker]:
    worker = Worker(toy_settings(redis_url), most_stuck=1000)
    yield worker
    worker.close()


def leap(pool: Pool, run: Run) -> None:
    """Redis's clock is past the run's deadline, as if it had been set forward."""
    pool.redis.client.hset(keys.run(run.ref), "deadline", int(pool.redis.now() * 1e6))


def shows(worker: Worker, monkeypatch: pytest.MonkeyPatch, seconds_left: float | None) -> list[int]:
    """The platform shows so much time; returns a list that grows with each look."""
    looks: list[int] = []

    def look(*_: object) -> RunView:
        looks.append(1)
        return RunView(status="active", seconds_left=seconds_left)

    monkeypatch.setattr(worker.platform("toy"), "look", look)
    return looks


def test_a_run_that_has_time_on_its_platform_goes_on(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_final_toy(worker.pool, options={"tasks": 2, "seconds": 1800})
    shows(worker, monkeypatch, 1700.0)
    leap(worker.pool, run)

    finish_one(worker, run)
    state = state_of(worker.pool, run)
    assert state.status is RunStatus.SOLVING
    assert 1690 < state.seconds_left <= 1700
    for task in run.tasks:
        solve_one(worker, run, task.task_id)
    finish_one(worker, run)
    assert state_of(worker.pool, run).status is RunStatus.FINISHED
    assert state_of(worker.pool, run).submitted == 2


@pytest.mark.parametrize("seconds_left", [0.5, None])
def test_a_run_that_has_none_there_either_is_closed(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, seconds_left: float | None
) -> None:
    run = open_final_toy(worker.pool, options={"tasks": 2, "seconds": 1800})
    looks = shows(worker, monkeypatch, seconds_left)
    finish_one(worker, run)
    assert not looks, "while there is time nobody asks"
    leap(worker.pool, run)

    finish_one(worker, run)
    assert state_of(worker.pool, run).status is RunStatus.FINISHED
    assert len(looks) == 1


def test_a_platform_that_does_not_answer_saves_no_run_from_its_end(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_final_toy(worker.pool, options={"tasks": 2, "seconds": 1800})

    def away(*_: object) -> RunView:
        raise Unavailable("no answer")

    monkeypatch.setattr(worker.platform("toy"), "look", away)
    leap(worker.pool, run)
    finish_one(worker, run)
    assert state_of(worker.pool, run).status is RunStatus.FINISHED


def test_nobody_is_asked_about_a_budget(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_toy(worker.pool, options={"tasks": 2})
    looks = shows(worker, monkeypatch, 1700.0)
    leap(worker.pool, run)

    finish_one(worker, run)
    assert state_of(worker.pool, run).status is RunStatus.FINISHED
    assert not looks
