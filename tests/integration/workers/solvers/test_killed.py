"""A worker that is killed while it plays a task with an effect: whenever that is, the effect happens once."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator

import pytest

from emulators.serve import ArenaEmulator, ModelEmulator
from shared.deadline import Deadline
from shared.models import Run, RunRequest, Solution, TaskStatus
from shared.pool.pool import Pool
from shared.settings import Settings
from tests.support import mortal
from tests.support.model import settings_for
from tests.support.mortal import Step
from tests.support.playing import wait_for
from workers.worker import Worker

SEED = 11
TELLING = ("ledger/decide", "journal_intend", "journal_settle", "ledger/report")
"""Before and after these a kill could do the most harm."""

_SPAWN = multiprocessing.get_context("forkserver")
_SPAWN.set_forkserver_preload(["tests.support.mortal"])


@pytest.fixture(scope="module")
def emulators() -> Iterator[tuple[ArenaEmulator, ModelEmulator]]:
    with ArenaEmulator.start(seed=1) as arena, ModelEmulator.start(arena_url=arena.url) as model:
        yield arena, model


@pytest.fixture
def settings(emulators: tuple[ArenaEmulator, ModelEmulator], pool: Pool) -> Settings:
    arena, model = emulators
    redis_url = pool.settings.redis_url
    return settings_for(
        model.url, redis_url=redis_url, arena_url=arena.url, arena_key=arena.key, lease_seconds=1.0
    )


class Stage:
    """Opens runs and lets mortal workers play one of their tasks."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.worker = Worker(settings)
        self.platform = self.worker.platform("arena")
        self.ledger = self.worker.pool.ledger

    def open(self) -> tuple[Run, str]:
        """A new run of the same scenario, and its task that asks for one containment call."""
        request = RunRequest(seed=SEED, solver="agent")
        request_id = self.ledger.request(request)
        run = self.platform.open(request, self.platform.prepare(request), request_id)
        assert self.ledger.opened(request_id, run, request)
        task = next(task for task in run.tasks if "that you rotate" in task.instruction)
        return run, task.task_id

    def play(self, run: Run, task_id: str, die_before: Step | None = None) -> tuple[list[Step], bool]:
        """The steps that a worker made before it died, or all of them; and whether it died."""
        hears, told = _SPAWN.Pipe(duplex=False)
        child = _SPAWN.Process(
            target=mortal.play, args=(self.settings, run, task_id, "agent", die_before, told)
        )
        child.start()
        told.close()
        steps: list[Step] = []
        try:
            while True:
                steps.append(hears.recv())
        except EOFError:
            child.join(60)
        died = child.exitcode == -signal.SIGKILL
        assert died or child.exitcode == 0
        hears.close()
        child.close()
        return steps, died

    def decided(self, run: Run, task_id: str) -> Solution | None:
        return self.ledger.task(run.ref, task_id).solution

    def calls_shown(self, run: Run, task_id: str) -> int | None:
        return self.platform.look(run, Deadline.after(10)).tasks[task_id].tool_calls

    def killed_before(self, step: Step) -> bool:
        """Kill a worker before a step; let another go on; nothing was done twice or decided anew.

        Returns:
            False where it came to no such step: no two runs have the same files.
        """
        run, task_id = self.open()
        _, died = self.play(run, task_id, step)
        decided, calls = self.decided(run, task_id), self.calls_shown(run, task_id)
        self._free(run, task_id)
        if self.ledger.task(run.ref, task_id).status is not TaskStatus.SOLVED:
            self.play(run, task_id)
        assert self.ledger.task(run.ref, task_id).status is TaskStatus.SOLVED, step
        assert self.calls_shown(run, task_id) == 1, (step, calls)
        final = self.decided(run, task_id)
        assert final is not None
        assert decided in (None, final), step
        assert len(final.effects) == 1
        return died

    def _free(self, run: Run, task_id: str) -> None:
        """Wait until the dead worker's lease has run out."""

        def free() -> bool:
            self.ledger.expire_leases(grace=False)
            self.ledger.wake_due()
            return self.ledger.task(run.ref, task_id).status is not TaskStatus.LEASED

        wait_for(free, 15, "the lease ends")


@pytest.fixture
def stage(settings: Settings) -> Iterator[Stage]:
    stage = Stage(settings)
    yield stage
    stage.worker.close()


@pytest.mark.chaos
@pytest.mark.timeout(400)
def test_killed_around_its_decision_and_its_effect_a_task_is_solved_once(stage: Stage) -> None:
    assert all(stage.killed_before((name, 0)) for name in TELLING)


@pytest.mark.optin  # half an hour
@pytest.mark.timeout(3600)
def test_killed_before_any_step_a_task_is_solved_once(stage: Stage) -> None:
    steps, _ = stage.play(*stage.open())
    missed = [step for step in steps if not stage.killed_before(step)]
    print(f"killed before {len(steps) - len(missed)} of {len(steps)} steps")
    assert {name for name, _ in missed} <= {"blobs", "flights", "bucket"}
    assert len(missed) < len(steps) / 4
