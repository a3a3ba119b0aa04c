"""Opens toy runs and plays them, job by job in this process or by a real pool."""

from __future__ import annotations

import time
from collections.abc import Callable

from shared.models import Kind, Run, RunRef, RunRequest, RunStatus
from shared.pool.jobs import FinishJob, SolveJob
from shared.pool.ledger import RunState
from shared.pool.pool import Pool
from shared.settings import Settings
from tests.support import toy_platform, toy_solvers
from tests.support.toy_platform import ToyPlatform
from workers.finish import finish
from workers.solve import solve
from workers.worker import Worker


def toy_settings(redis_url: str, **values: object) -> Settings:
    """Settings for a pool that plays toy runs with toy solvers."""
    return Settings.load(
        _env_file=None,
        redis_url=redis_url,
        platforms=toy_platform.SETTING,
        solvers=toy_solvers.SETTING,
        **values,
    )


def open_toy(pool: Pool, solver: str = "doubling", **values: object) -> Run:
    """Open a toy run in the ledger, as a producer does."""
    fields = {"platform": "toy", "solver": solver, "budget_seconds": 60.0, "task_seconds": 30.0, **values}
    request = RunRequest.model_validate(fields)
    request_id = pool.ledger.request(request)
    platform = ToyPlatform.create(pool.settings, pool)
    run = platform.open(request, platform.prepare(request), request_id)
    assert pool.ledger.opened(request_id, run, request)
    return run


def open_final_toy(pool: Pool, **values: object) -> Run:
    return open_toy(pool, kind=Kind.FINAL, **values)


def solve_one(worker: Worker, run: Run, task_id: str, solver: str = "doubling") -> None:
    """Play one task's job in this process."""
    solve(worker, SolveJob(platform=run.platform, run_id=run.run_id, task_id=task_id, solver=solver))


def finish_one(worker: Worker, run: Run) -> None:
    """Play a run's finish job in this process."""
    finish(worker, FinishJob(platform=run.platform, run_id=run.run_id))


def state_of(pool: Pool, run: Run | RunRef) -> RunState:
    state = pool.ledger.run(run.ref if isinstance(run, Run) else run)
    assert state is not None
    return state


def wait_for(condition: Callable[[], bool], seconds: float, what: str) -> float:
    """Wait until ``condition()`` holds; returns how long it took. Fails after ``seconds``."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, f"not within {seconds:g} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - started


def wait_for_end(pool: Pool, run: Run, seconds: float = 30.0) -> RunState:
    """Wait until the run is sealed."""
    wait_for(lambda: state_of(pool, run).status.final, seconds, f"{run.ref} ends")
    state = state_of(pool, run)
    assert state.status is not RunStatus.REJECTED
    return state
