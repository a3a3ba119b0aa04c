"""A finalizer is killed before each of its steps in turn: the next one ends the run, and nothing is twice."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from producer.runs import begin
from shared.models import RunRef, RunRequest, RunStatus, Solution
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool.jobs import FinishJob
from shared.pool.pool import Pool
from tests.chaos.world import build_small
from tests.support import mortal_finisher
from tests.support.played_arena import PlayedArena
from tests.support.playing import state_of, wait_for
from workers.finish import finish
from workers.worker import Worker

TASKS = 3
MOST_STEPS = 200

_SPAWN = multiprocessing.get_context("forkserver")
_SPAWN.set_forkserver_preload(["tests.support.mortal_finisher"])


class Stage:
    """Runs that wait for their finalizer, and finalizers that die."""

    def __init__(self, arena: PlayedArena, platform: ArenaPlatform) -> None:
        self.arena = arena
        self.platform = platform
        self.pool: Pool = arena.pool
        self.worker = Worker(self.pool.settings)

    def solved(self) -> RunRef:
        """A run all of whose tasks have reported."""
        request = RunRequest()
        ref = begin(self.pool, self.platform, request, self.pool.ledger.request(request))
        for task in self.pool.ledger.tasks(ref):
            lease = self.pool.ledger.lease(ref, task.task_id, "solver", 10.0)
            assert lease is not None
            self.pool.ledger.decide(lease, Solution(answer=task.task_id))
            self.pool.ledger.report(lease)
        return ref

    def dies(self, ref: RunRef, step: int) -> bool:
        """A finalizer drains the run, until it dies. False: it came to its end before that step."""
        child = _SPAWN.Process(target=mortal_finisher.play, args=(self.pool.settings, job(ref), step))
        child.start()
        child.join(60)
        died = child.exitcode == -signal.SIGKILL
        assert died or child.exitcode == 0
        child.close()
        return died

    def finish(self, ref: RunRef) -> None:
        """The next finalizer, once the dead one's lease is over."""
        wait_for(lambda: state_of(self.pool, ref).finisher is None, 10, "the lease runs out")
        finish(self.worker, job(ref))

    def assert_whole(self, ref: RunRef, step: int) -> None:
        state = state_of(self.pool, ref)
        assert (state.status, state.submitted) == (RunStatus.FINISHED, TASKS), step
        shown = self.arena.app.arena.runs.find(ref.run_id)
        assert shown is not None
        assert shown.status == "finished"
        answers = {name: work.submission.answer for name, work in shown.works.items() if work.submission}
        assert answers == {name: name for name in shown.works}, step
        assert "duplicate_submits" not in self.arena.books(), step


def job(ref: RunRef) -> FinishJob:
    return FinishJob(platform=ref.platform, run_id=ref.run_id)


@pytest.fixture
def stage(tmp_path: Path, redis_url: str) -> Iterator[Stage]:
    arena = PlayedArena(tmp_path, redis_url)
    arena.start(build=build_small(TASKS))
    platform = arena.platform(lease_seconds=0.3, data=tmp_path / "data", archive=tmp_path / "archive")
    stage = Stage(arena, platform)
    yield stage
    stage.worker.close()
    arena.stop()


@pytest.mark.chaos
def test_killed_before_any_step_a_finalizer_is_followed_by_one_that_ends_the_run(stage: Stage) -> None:
    for step in range(1, MOST_STEPS):
        ref = stage.solved()
        died = stage.dies(ref, step)
        if died:
            stage.finish(ref)
        stage.assert_whole(ref, step)
        if not died:
            assert step > 30  # so many steps there are at least
            return
    pytest.fail(f"it has more than {MOST_STEPS} steps")
