"""Solvers that raise what is no Exception: it would end the process, and every task in it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.models import Solution, Task
from tests.support.playing import open_toy, solve_one, toy_settings
from workers.api import TaskContext
from workers.worker import Worker

SOLVERS = "raises=tests.integration.workers.test_stranger_solvers:Raises"
RAISED = (KeyboardInterrupt, asyncio.CancelledError, GeneratorExit)


class Raises:
    """Raises by ordinal: the toy's tasks are 4, 8, 10."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        raise RAISED[["4", "8", "10"].index(task.task_id)]


@pytest.fixture
def worker(redis_url: str) -> Iterator[Worker]:
    worker = Worker(toy_settings(redis_url).model_copy(update={"solvers": SOLVERS}), most_stuck=1000)
    yield worker
    worker.close()


@pytest.mark.parametrize(("number", "kind"), list(enumerate(RAISED)))
def test_it_uses_up_one_attempt_like_any_other_error(
    worker: Worker, number: int, kind: type[BaseException]
) -> None:
    run = open_toy(worker.pool, "raises", options={"tasks": 3})
    task_id = run.tasks[number].task_id
    with ThreadPoolExecutor(1) as threads:
        threads.submit(solve_one, worker, run, task_id, "raises").result(30)
    task = worker.pool.ledger.task(run.ref, task_id)
    assert task.faults == 1
    assert kind.__name__ in str(task.reason)


def test_ctrl_c_in_the_main_thread_is_no_fault_of_the_solver(worker: Worker) -> None:
    run = open_toy(worker.pool, "raises", options={"tasks": 3})
    with pytest.raises(KeyboardInterrupt):
        solve_one(worker, run, "4", "raises")
    assert worker.pool.ledger.task(run.ref, "4").faults == 0
