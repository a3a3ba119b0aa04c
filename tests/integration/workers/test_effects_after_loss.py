"""Redis came back empty: what was done before is not known, and so it is not done again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from producer.notebook import Note
from producer.runs import rebuild
from shared.models import Effect, Run, RunRequest, Solution, Task, TaskStatus
from shared.pool import keys
from tests.support.playing import open_toy, solve_one, toy_settings
from tests.support.toy_platform import ToyPlatform
from workers.api import TaskContext
from workers.worker import Worker

SOLVER = "careful=tests.integration.workers.test_effects_after_loss:Careful"


class Careful:
    """Reads before it decides: the platform counts that too."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        context.tools.call("peek")
        return Solution(answer=1, effects=(Effect(tool="push", args={"item": "one"}),))


@pytest.fixture
def worker(redis_url: str, tmp_path: Path) -> Iterator[Worker]:
    settings = toy_settings(redis_url).model_copy(update={"solvers": SOLVER, "data": tmp_path})
    worker = Worker(settings, most_stuck=1000)
    yield worker
    worker.close()


def lose_everything(worker: Worker, run: Run, request_id: str) -> None:
    """Redis forgets what is the pool's, and the run is brought back from its note."""
    client = worker.pool.redis.client
    client.delete(*client.keys(f"{keys.PREFIX}*"))
    request = RunRequest(platform="toy", solver="careful")
    note = Note(request_id=request_id, request=request, at=worker.pool.redis.now(), ref=run.ref)
    assert rebuild(worker.pool, worker.platform("toy"), note) == run.ref


def test_a_task_with_calls_of_which_nothing_is_known_gets_no_effects(worker: Worker) -> None:
    run = open_toy(worker.pool, "careful", options={"tasks": 2})
    done, untouched = (task.task_id for task in run.tasks)
    platform = worker.platform("toy")
    assert isinstance(platform, ToyPlatform)
    solve_one(worker, run, done, "careful")
    assert platform.pushed(run, done) == ["one"]

    state = worker.pool.ledger.run(run.ref)
    assert state is not None
    lose_everything(worker, run, state.request_id)
    for task_id in (done, untouched):
        solve_one(worker, run, task_id, "careful")
        assert worker.pool.ledger.task(run.ref, task_id).status is TaskStatus.SOLVED
    assert platform.pushed(run, done) == ["one"]
    assert platform.pushed(run, untouched) == ["one"]
    (entry,) = worker.pool.journal.entries(run.ref, done)
    assert entry.result is not None
    assert entry.result.refused_by == "journal-lost"


def test_bringing_a_run_back_twice_loses_nothing_more(worker: Worker) -> None:
    run = open_toy(worker.pool, "careful", options={"tasks": 1})
    state = worker.pool.ledger.run(run.ref)
    assert state is not None
    (task_id,) = (task.task_id for task in run.tasks)
    lose_everything(worker, run, state.request_id)
    solve_one(worker, run, task_id, "careful")

    note = Note(request_id=state.request_id, request=state.request, at=0.0, ref=run.ref)
    rebuild(worker.pool, worker.platform("toy"), note)
    assert not worker.pool.journal.lost(run.ref, task_id)
