"""Real Celery workers under a real supervisor, playing toy runs; the pool is shared by the tests below."""

from __future__ import annotations

import signal
from collections import Counter

import psutil
import pytest
from celery import Celery

from shared.models import Run, RunStatus
from shared.pool.jobs import FINISH, QUEUE_FINISH, QUEUE_SOLVE, SOLVE, celery_config
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from tests.support.playing import open_final_toy, open_toy, state_of, toy_settings, wait_for, wait_for_end
from tests.support.supervised import Supervised
from tests.support.toy_platform import ToyPlatform

LEASE = 2.0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RedisServer.start(tmp_path_factory.mktemp("redis"), maxmemory_mb=64) as server:
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def workers(server, folder):
    settings = toy_settings(server.url, lease_seconds=LEASE)
    kills = folder / "kills"
    kills.write_bytes(b"")
    workers = Supervised(
        settings,
        folder,
        *("--role", "both", "--processes", "2", "--threads", "4"),
        environment={"TOY_SECONDS": "1.0", "TOY_KILLS": str(kills)},
    )
    workers.wait_until_live(4)
    yield workers
    assert workers.stop() == 0


@pytest.fixture
def pool(workers) -> Pool:
    return workers.pool


def toy(pool: Pool) -> ToyPlatform:
    return ToyPlatform.create(pool.settings, pool)


def happened(pool: Pool, run: Run, name: str) -> Counter:
    """How often something happened to each task."""
    return Counter(event.task_id for event in pool.ledger.events(run.ref) if event.name == name)


def times(pool: Pool, run: Run, name: str) -> list[float]:
    """When it happened, on Redis's clock."""
    return [event.at for event in pool.ledger.events(run.ref) if event.name == name]


def assert_each_task_was_submitted_once(pool: Pool, run: Run) -> None:
    submitted = Counter(task_id for batch in toy(pool).batches(run) for task_id in batch)
    assert submitted == Counter(task.task_id for task in run.tasks)


def test_a_run_is_solved_in_parallel_submitted_in_one_batch_and_sealed(pool):
    run = open_toy(pool, options={"tasks": 30})
    state = wait_for_end(pool, run)
    assert state.status is RunStatus.FINISHED
    assert state.scorecard is not None
    assert state.scorecard.accuracy == 1.0
    assert len(toy(pool).batches(run)) == 1
    assert_each_task_was_submitted_once(pool, run)


def test_waiting_tasks_hold_no_slot_and_come_back(pool):
    run = open_toy(pool, "patient", options={"tasks": 20})
    state = wait_for_end(pool, run)
    assert state.scorecard is not None
    assert state.scorecard.accuracy == 1.0
    assert set(happened(pool, run, "leased").values()) == {3}


def test_effects_happen_once_whatever_the_answers_were(pool):
    run = open_toy(pool, "pushing", options={"tasks": 6})
    wait_for_end(pool, run)
    platform = toy(pool)
    assert {task: platform.pushed(run, task) for task in ("4", "8", "10", "14")} == {
        "4": ["one", "two"],
        "8": ["one", "instead"],
        "10": ["lost"],
        "14": ["dropped", "two"],
    }


def test_a_final_run_has_slots_of_its_own_and_is_drained_as_reports_come(pool):
    crowd = open_toy(pool, "slow", options={"tasks": 32})
    wait_for(lambda: len(happened(pool, crowd, "leased")) == 8, 10, "every solve slot is taken")
    final = open_final_toy(pool, solver="patient", options={"tasks": 24, "seconds": 60})
    assert wait_for_end(pool, final).status is RunStatus.FINISHED
    wait_for_end(pool, crowd)
    assert min(times(pool, final, "leased")) < max(times(pool, crowd, "leased"))
    assert len(toy(pool).batches(final)) > 1
    assert_each_task_was_submitted_once(pool, final)


def test_a_run_whose_time_is_up_is_sealed_with_what_there_is(pool):
    run = open_toy(pool, "late", options={"tasks": 30}, budget_seconds=2.5)
    state = wait_for_end(pool, run, 10)
    assert state.status is RunStatus.FINISHED
    assert 8 <= state.submitted < 30
    assert len(state.failures) == 30 - state.submitted


def test_a_message_that_is_not_ours_is_dropped_and_the_worker_goes_on(pool, workers):
    sender = Celery("sender", set_as_current=False)
    sender.conf.update(celery_config(pool.settings))
    good = {"platform": "toy", "run_id": "r", "task_id": "t", "solver": "doubling"}
    for name, queue, message in (
        (SOLVE, QUEUE_SOLVE, {**good, "path": "os:system"}),
        (SOLVE, QUEUE_SOLVE, {"platform": "../..", "run_id": "r", "task_id": "t", "solver": "doubling"}),
        (SOLVE, QUEUE_SOLVE, {**good, "solver": "os:system"}),
        (FINISH, QUEUE_FINISH, {"platform": "toy"}),
    ):
        sender.send_task(name, kwargs=message, queue=queue)
    sender.close()
    wait_for(lambda: len(workers.events("job_refused")) == 4, 10, "four messages are refused")
    assert wait_for_end(pool, open_toy(pool)).submitted == 6


def test_a_killed_node_costs_nothing_but_time(pool, workers):
    run = open_toy(pool, "slow", options={"tasks": 16})
    wait_for(lambda: len(happened(pool, run, "leased")) == 8, 10, "every solve slot is taken")
    (victim,) = workers.children("solve1")
    victim.kill()
    lost = [
        task.task_id
        for task in pool.ledger.tasks(run.ref)
        if task.status == "leased" and str(victim.pid) in str(task.owner)
    ]
    wait_for(lambda: all(happened(pool, run, "leased")[task] >= 2 for task in lost), 40, "they run again")
    state = wait_for_end(pool, run)
    assert state.submitted == 16
    assert set(happened(pool, run, "solved").values()) == {1}
    assert_each_task_was_submitted_once(pool, run)
    workers.wait_until_live(4)


def test_a_task_that_kills_its_worker_gives_up_and_takes_no_other_along(pool, workers, folder):
    (folder / "kills").write_bytes(b"x" * 50)
    run = open_toy(pool, "killing", options={"tasks": 6}, attempts=1)
    state = wait_for_end(pool, run, 60)
    (folder / "kills").write_bytes(b"")
    assert list(state.failures) == ["4"]
    assert "fell silent" in state.failures["4"]
    assert state.submitted == 5
    workers.wait_until_live(4)


def test_a_dead_finalizer_is_replaced(pool, workers):
    run = open_toy(pool, "slow", options={"tasks": 8})
    (victim,) = workers.children("finish")
    victim.send_signal(signal.SIGSTOP)
    wait_for(lambda: state_of(pool, run).status is RunStatus.FINISHING, 10, "all have reported")
    victim.kill()
    wait_for(lambda: state_of(pool, run).status.final, 20, "the run is sealed")
    assert_each_task_was_submitted_once(pool, run)
    workers.wait_until_live(4)


def test_a_process_full_of_solvers_that_never_return_is_replaced(pool, workers):
    run = open_toy(pool, "silent", options={"tasks": 8}, attempts=1, task_seconds=1.0)
    state = wait_for_end(pool, run, 30)
    assert len(state.failures) == 8
    leases = [event for event in pool.ledger.events(run.ref) if event.name == "leased"]
    stuck = {int(event.data["owner"].split("-")[-2]) for event in leases}  # NODE-PID-TOKEN
    assert stuck
    wait_for(lambda: not any(psutil.pid_exists(pid) for pid in stuck), 20, "stuck processes leave")
    workers.wait_until_live(4)
    statuses = [event["status"] for event in workers.events("process_leaves")]
    assert statuses.count(70) >= len(stuck)


def test_a_deaf_consumer_is_replaced(pool, workers):
    control = Celery("control", set_as_current=False)
    control.conf.update(celery_config(pool.settings))
    workers.wait_until_live(4)
    nodes = [beat.node for beat in pool.fleet.live() if beat.role == "solve"]
    deaf = control.control.cancel_consumer(QUEUE_SOLVE, destination=nodes, reply=True, timeout=10, limit=2)
    control.close()
    assert len(deaf) == 2
    run = open_toy(pool, options={"tasks": 6})
    state = wait_for_end(pool, run, 60)
    assert state.submitted == 6
    assert workers.events("consumer_deaf")
    workers.wait_until_live(4)


@pytest.mark.chaos
def test_a_node_that_hangs_is_replaced(pool, workers):
    (victim,) = workers.children("solve2")
    victim.send_signal(signal.SIGSTOP)
    run = open_toy(pool, options={"tasks": 6})
    assert wait_for_end(pool, run, 30).submitted == 6
    wait_for(lambda: not psutil.pid_exists(victim.pid), 30, "the hanging node is killed")
    workers.wait_until_live(4)


def test_every_line_of_the_log_is_one_event(workers):
    lines = workers.log.read_text().splitlines()
    strange = [line for line in lines if line.strip() and not line.startswith(("{", "worker: "))]
    assert strange == []
