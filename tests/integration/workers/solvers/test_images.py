"""An image goes to the model once in the whole pool, whoever dies or runs out of money over it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from emulators.serve import ModelEmulator
from shared.deadline import Deadline
from shared.models import Run, RunRequest, TaskStatus
from shared.pool.ledger import TaskState
from shared.pool.pool import Pool
from shared.settings import Settings
from tests.support import model_solvers
from tests.support.emulated import ArenaHere
from tests.support.model import settings_for
from tests.support.playing import solve_one, wait_for
from tests.support.recording import Recording
from workers.worker import Worker

IMAGES = (".png", ".jpg")


@pytest.fixture(scope="module")
def arena() -> Iterator[ArenaHere]:
    with ArenaHere(seed=1) as emulator:
        yield emulator


@pytest.fixture
def model(arena: ArenaHere) -> Iterator[ModelEmulator]:
    with ModelEmulator.start(arena_url=arena.url) as emulator:
        yield emulator


@pytest.fixture
def recording(model: ModelEmulator) -> Iterator[Recording]:
    with Recording(model.url) as recording:
        yield recording


class Machines:
    """Workers that share a pool, each with everything else of its own."""

    def __init__(self, settings: Settings, number: int) -> None:
        self.settings = settings
        self.workers = [Worker(settings) for _ in range(number)]

    def open(self, **request: object) -> Run:
        """A run of the same scenario's seed as all others."""
        worker = self.workers[0]
        platform, ledger = worker.platform("arena"), worker.pool.ledger
        asked = RunRequest.model_validate({"seed": 11, "solver": "looking", **request})
        request_id = ledger.request(asked)
        run = platform.open(asked, platform.prepare(asked), request_id)
        assert ledger.opened(request_id, run, asked)
        return run

    def sharing(self, run: Run) -> list[str]:
        """Tasks whose first image is the same."""
        platform = self.workers[0].platform("arena")
        by_image: dict[str, list[str]] = {}
        for task in run.tasks:
            workspace = self.workers[0].open_workspace(platform, run, task, Deadline.after(20))
            assert workspace is not None
            for path in [path for path in workspace.paths() if path.endswith(IMAGES)][:1]:
                by_image.setdefault(workspace.sha256(path), []).append(task.task_id)
        return max(by_image.values(), key=len)

    def answer(self, run: Run, task_id: str) -> object:
        state = self.workers[0].pool.ledger.task(run.ref, task_id)
        assert state.status is TaskStatus.SOLVED, state
        assert state.solution is not None
        return state.solution.answer


@pytest.fixture
def settings(arena: ArenaHere, recording: Recording, pool: Pool) -> Settings:
    return settings_for(
        recording.url,
        redis_url=pool.settings.redis_url,
        arena_url=arena.url,
        arena_key=arena.key,
        lease_seconds=1.0,
        solvers=model_solvers.SETTING,
    )


@pytest.fixture
def machines(settings: Settings) -> Iterator[Machines]:
    machines = Machines(settings, 2)
    yield machines
    for worker in machines.workers:
        worker.close()


def looked(recording: Recording) -> int:
    """How often an image was sent."""
    return sum(b"image_url" in body for body in recording.bodies)


def test_workers_that_look_at_the_same_image_at_once_and_later_send_it_once(
    machines: Machines, model: ModelEmulator, recording: Recording
) -> None:
    model.control("conduct", slow=0.3)
    run = machines.open()
    task_ids = machines.sharing(run)[:6]
    with ThreadPoolExecutor(len(task_ids)) as threads:
        for number, task_id in enumerate(task_ids):
            threads.submit(solve_one, machines.workers[number % 2], run, task_id, "looking")
    assert looked(recording) == 1
    answers = {str(machines.answer(run, task_id)) for task_id in task_ids}
    assert len(answers) == 1
    assert len(answers.pop()) > 20
    spent = machines.workers[0].pool.spend.totals(run.ref)
    assert (spent.calls, spent.settled) == (1, model.books()["keys"]["team-1 dev"]["micro_usd"])


def test_a_reader_without_money_leaves_the_image_to_the_next(
    machines: Machines, recording: Recording
) -> None:
    poor, rich = machines.open(run_usd=0.000001), machines.open()
    poor_id, rich_id = machines.sharing(poor)[0], machines.sharing(rich)[0]
    solve_one(machines.workers[0], poor, poor_id, "looking")
    assert "cap of the run" in str(machines.answer(poor, poor_id))
    solve_one(machines.workers[1], rich, rich_id, "looking")
    assert "cap" not in str(machines.answer(rich, rich_id))
    assert looked(recording) == 1


def read_in_a_process(settings: Settings, run: Run, task_id: str) -> None:
    worker = Worker(settings)
    solve_one(worker, run, task_id, "looking")
    worker.close()


@pytest.mark.chaos
def test_a_reader_that_is_killed_is_replaced_and_its_own_task_is_not_lost(
    machines: Machines, model: ModelEmulator, recording: Recording
) -> None:
    run = machines.open()
    first, second = machines.sharing(run)[:2]
    model.control("conduct", slow=30)
    process = multiprocessing.get_context("spawn").Process(
        target=read_in_a_process, args=(machines.settings, run, first)
    )
    process.start()
    wait_for(lambda: looked(recording) == 1, 30, "the first reader has sent the image")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(solve_one, machines.workers[0], run, second, "looking")
        model.control("conduct", slow=0)
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        waiting.result(30)
    ledger = machines.workers[1].pool.ledger
    wait_for(lambda: ledger.expire_leases(grace=False) or _queued(ledger.task(run.ref, first)), 15, "free")
    solve_one(machines.workers[1], run, first, "looking")
    assert machines.answer(run, first) == machines.answer(run, second)
    assert looked(recording) == 2


def _queued(task: TaskState) -> bool:
    return task.status is not TaskStatus.LEASED
