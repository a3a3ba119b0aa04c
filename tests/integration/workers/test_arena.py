"""`baseline` plays a dev run of the arena emulator on supervised workers, over real HTTP, limiter on."""

from __future__ import annotations

import pytest

from emulators.serve import ArenaEmulator
from shared.models import RunRequest, RunStatus
from shared.platforms import registry
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from tests.support.playing import wait_for_end
from tests.support.supervised import Supervised


@pytest.fixture(scope="module")
def arena():
    with ArenaEmulator.start(seed=1) as arena:
        yield arena


@pytest.fixture(scope="module")
def workers(arena, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arena")
    with RedisServer.start(folder / "redis", maxmemory_mb=256) as server:
        settings = Settings.load(
            _env_file=None, redis_url=server.url, arena_url=arena.url, arena_key=arena.key
        )
        workers = Supervised(settings, folder, "--role", "solve", "finish", "--processes", "1")
        workers.wait_until_live(2)
        yield workers
        assert workers.stop() == 0


@pytest.fixture
def platform(workers):
    platform = registry.create("arena", workers.pool.settings, workers.pool)
    assert isinstance(platform, ArenaPlatform)
    yield platform
    platform.close()


def play(pool: Pool, platform: ArenaPlatform, seed: int):
    """Open a dev run as a producer does, and wait for its end."""
    request = RunRequest(platform="arena", seed=seed, solver="baseline")
    request_id = pool.ledger.request(request)
    run = platform.open(request, platform.prepare(request), request_id)
    assert pool.ledger.opened(request_id, run, request)
    return run, wait_for_end(pool, run, 90)


def test_a_dev_run_plays_end_to_end_within_its_requests(arena, workers, platform):
    pool = workers.pool
    run, state = play(pool, platform, 101)
    assert state.status is RunStatus.FINISHED
    assert (state.submitted, state.failures) == (30, {})
    assert state.scorecard is not None
    assert state.scorecard.accuracy is not None
    assert state.scorecard.accuracy > 0.2
    account = arena.books()["accounts"]["team-1"]
    assert account["over_limit"] == 0
    done = {
        f"{run.run_id}/{task.task_id}": len(pool.journal.entries(state.ref, task.task_id))
        for task in run.tasks
        if pool.journal.entries(state.ref, task.task_id)
    }
    assert done
    assert account["effects"] == done
    listing = platform.files(run, run.tasks[0])
    shared = set.intersection(*(set(paths.values()) for paths in listing.by_task.values()))
    own = sum(1 for paths in listing.by_task.values() if set(paths.values()) - shared)
    assert account["requests_by_run"][run.run_id] <= 32 + 2 * sum(done.values()) + 1 + own
    told = [
        entry["outcome"]
        for task in run.tasks
        for entry in pool.transcripts.read(state.ref, task.task_id)
        if entry["event"] == "decided"
    ]
    assert len(told) == 30
    assert {"OK", "DENIED_SECURITY", "UNSUPPORTED"} <= set(told)


def test_no_key_is_in_the_log(arena, workers):
    assert workers.events("node_started")
    assert arena.key not in workers.log.read_text()
