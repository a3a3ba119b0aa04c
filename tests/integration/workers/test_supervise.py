"""Ends of a supervised machine: warm, cold, sudden; and a Redis that goes away."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

import psutil
import pytest

from shared.models import TaskStatus
from shared.pool.jobs import QUEUE_SOLVE
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from tests.support.playing import open_toy, state_of, toy_settings, wait_for, wait_for_end
from tests.support.supervised import ROOT, Supervised, clean_environment, toy_variables
from tests.support.toy_platform import ToyPlatform
from workers.posts import NodePlan
from workers.supervise import LEAST_SILENCE, Supervisor

LEASE = 2.0
SMALL = ("--processes", "1", "--threads", "4")


@pytest.fixture
def server(tmp_path):
    with RedisServer.start(tmp_path / "redis", maxmemory_mb=64) as server:
        yield server


Start = Callable[..., Supervised]


@pytest.fixture
def start(server, tmp_path) -> Iterator[Start]:
    """Starts a machine of two nodes, or the one that solves, and waits until they live."""
    started: list[Supervised] = []

    def start(
        seconds: str = "1.0", roles: tuple[str, ...] = ("solve", "finish"), **values: float
    ) -> Supervised:
        settings = toy_settings(server.url, **{"lease_seconds": LEASE, **values})
        pace = {"TOY_SECONDS": seconds}
        workers = Supervised(settings, tmp_path, "--role", *roles, *SMALL, environment=pace)
        started.append(workers)
        workers.wait_until_live(len(roles))
        return workers

    yield start
    for workers in started:
        workers.stop(signal.SIGQUIT)


def submissions(workers: Supervised, run) -> Counter:
    platform = ToyPlatform.create(workers.pool.settings, workers.pool)
    return Counter(task_id for batch in platform.batches(run) for task_id in batch)


def leased(workers: Supervised, run) -> int:
    return state_of(workers.pool, run).counts.get(TaskStatus.LEASED, 0)


def test_a_warm_end_finishes_what_runs_and_a_new_machine_goes_on(start, server):
    workers = start()
    run = open_toy(workers.pool, "slow", options={"tasks": 8})
    wait_for(lambda: leased(workers, run) == 4, 10, "all slots are taken")
    children = workers.children()
    assert workers.stop(signal.SIGTERM) == 0
    assert not any(child.is_running() for child in children)
    with Pool(toy_settings(server.url)) as pool:
        assert pool.fleet.live() == []
    events = [event.name for event in workers.pool.ledger.events(run.ref)]
    assert events.count("solved") == events.count("leased") >= 4
    later = start()
    assert wait_for_end(later.pool, run).submitted == 8
    assert set(submissions(later, run).values()) == {1}
    assert later.stop() == 0


def test_a_second_signal_ends_coldly_and_leaves_running_jobs_to_the_pool(start):
    workers = start(seconds="60", roles=("solve",), lease_seconds=60.0)
    run = open_toy(workers.pool, "slow", options={"tasks": 4})
    wait_for(lambda: leased(workers, run) == 4, 10, "all slots are taken")
    children = workers.children()
    workers.process.send_signal(signal.SIGTERM)
    wait_for(lambda: bool(workers.events("supervisor_ends")), 5, "the end begins")
    assert workers.stop(signal.SIGINT, seconds=5) == 0
    assert not any(child.is_running() for child in children)
    assert leased(workers, run) == 4
    later = start(seconds="0.2", lease_seconds=60.0)
    assert wait_for_end(later.pool, run, 20).submitted == 4


@pytest.mark.chaos
def test_nodes_of_a_killed_supervisor_leave_and_its_run_goes_on_elsewhere(start):
    workers = start()
    run = open_toy(workers.pool, "slow", options={"tasks": 8})
    wait_for(lambda: leased(workers, run) == 4, 10, "all slots are taken")
    children = workers.children()
    workers.process.kill()
    assert psutil.wait_procs(children, timeout=5)[1] == []
    later = start()
    assert wait_for_end(later.pool, run).submitted == 8
    assert set(submissions(later, run).values()) == {1}
    workers.stop()
    assert later.stop() == 0


def test_a_run_survives_a_restart_of_redis_and_no_worker_ends(start, server, tmp_path):
    workers = start(seconds="3")
    run = open_toy(workers.pool, "slow", options={"tasks": 3})
    wait_for(lambda: leased(workers, run) == 3, 10, "all slots but one are taken")
    server.stop()
    wait_for(lambda: len(workers.events("broken_connection_dropped")) >= 1, 5, "the broker is missed")
    with RedisServer.start(tmp_path / "redis", port=server.port, maxmemory_mb=64):
        later = open_toy(workers.pool, options={"tasks": 1})
        assert wait_for(lambda: state_of(workers.pool, later).status.final, 20, "a new run is done") < 5
        assert wait_for_end(workers.pool, run, 60).submitted == 3
        assert set(submissions(workers, run).values()) == {1}
        assert workers.events("node_ended") == []
        assert workers.stop() == 0


@pytest.mark.chaos
def test_nobody_is_called_silent_because_redis_was_away_for_long(start, server):
    workers = start()
    redis = psutil.Process(server.pid)
    redis.suspend()
    time.sleep(LEAST_SILENCE + 5)
    redis.resume()
    assert wait_for_end(workers.pool, open_toy(workers.pool), 20).submitted == 6
    assert workers.events("node_silent", "node_ended") == []
    assert workers.stop() == 0


def test_a_node_that_cannot_be_started_is_tried_again_later(server, monkeypatch):
    supervisor = Supervisor([NodePlan("solve1", QUEUE_SOLVE, 1)], toy_settings(server.url), warm_seconds=1)
    (post,) = supervisor._posts
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    supervisor._tend(post)
    assert post.child is None
    assert post.due > time.monotonic() + 10


def test_what_a_killed_node_had_is_taken_up_at_once_however_long_its_lease(start):
    workers = start(seconds="0.5", lease_seconds=60.0)
    run = open_toy(workers.pool, "slow", options={"tasks": 4})
    wait_for(lambda: leased(workers, run) == 4, 10, "all slots are taken")
    for child in workers.children():  # whichever tends, too
        child.kill()
    state = wait_for_end(workers.pool, run, 15)
    assert state.submitted == 4
    assert [event.name for event in workers.pool.ledger.events(run.ref)].count("lost") == 4
    assert workers.stop() == 0


@pytest.mark.chaos
def test_a_node_that_holds_too_much_memory_is_replaced_and_loses_nothing(start):
    workers = start(seconds="3", node_memory_mb=256)
    run = open_toy(workers.pool, "hoarding", options={"tasks": 6})
    assert wait_for_end(workers.pool, run).submitted == 6
    events = [event.name for event in workers.pool.ledger.events(run.ref)]
    assert (events.count("leased"), events.count("lost")) == (6, 0)
    (full, *_) = workers.events("memory_full")
    wait_for(
        lambda: any(event["node"] == full["node"] for event in workers.events("node_ended")), 10, "it ends"
    )
    told = [
        event["event"]
        for event in workers.events("node_started", "node_replaced", "node_ended")
        if str(event["node"]).startswith("solve1")
    ]
    assert told[:4] == ["node_started", "node_replaced", "node_started", "node_ended"]
    assert workers.stop() == 0


def test_wrong_settings_end_with_a_clear_line(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "workers.supervise"],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert "SCRIMMAGE_REDIS_URL" in ended.stderr


@pytest.mark.parametrize("kind", ["prefork", "solo"])
def test_a_bare_celery_worker_plays_with_any_pool(server, tmp_path, kind):
    settings = toy_settings(server.url, lease_seconds=LEASE)
    environment = {**clean_environment(), **toy_variables(), "SCRIMMAGE_REDIS_URL": server.url}
    command = [sys.executable, "-m", "celery", "-A", "workers.app", "worker", "-P", kind, "-c", "2"]
    with (tmp_path / "log").open("wb") as log:
        worker = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        from shared.pool.pool import Pool

        with Pool(settings) as pool:
            run = open_toy(pool, "patient", options={"tasks": 4})
            assert wait_for_end(pool, run, 40).submitted == 4
    finally:
        worker.terminate()
        assert worker.wait(20) == 0
