"""Rounds of jobs, over a real ledger and a real broker."""

from __future__ import annotations

import base64
import json
import random
from collections import Counter
from pathlib import Path

import pytest
import redis

from shared.errors import Unavailable
from shared.models import RunRef
from shared.pool.dispatch import send_round
from shared.pool.fleet import Heartbeat
from shared.pool.jobs import QUEUE_FINAL, QUEUE_SOLVE, Jobs
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from tests.support.ledger import a_run, open_final, open_run


def send(pool: Pool, seed: int = 1) -> int:
    return send_round(pool.ledger, pool.jobs, pool.fleet, chance=random.Random(seed))


def take_jobs(client: redis.Redis, queue: str) -> list[tuple[str, str]]:
    """Take all jobs from a queue, as workers would: run and task ids."""
    jobs = []
    while (sent := client.rpop(queue)) is not None:
        _, kwargs, _ = json.loads(base64.b64decode(json.loads(str(sent))["body"]))
        jobs.append((kwargs["run_id"], kwargs["task_id"]))
    return jobs


def open_many(pool: Pool, runs: int, tasks: int) -> list[RunRef]:
    return [open_run(pool.ledger, a_run(f"run_{number}", tasks)) for number in range(runs)]


def test_a_small_run_is_sent_at_once_and_only_once(pool: Pool, redis_client: redis.Redis) -> None:
    open_many(pool, 1, 5)
    assert send(pool) == 5
    assert send(pool) == 0
    assert sorted(take_jobs(redis_client, QUEUE_SOLVE)) == [("run_0", f"t{number}") for number in range(1, 6)]


def test_the_queue_is_kept_short_and_filled_up_again(pool: Pool, redis_client: redis.Redis) -> None:
    open_many(pool, 4, 30)
    assert send(pool) == 16
    assert send(pool) == 0
    for _ in range(3):
        redis_client.rpop(QUEUE_SOLVE)
    assert send(pool) == 3
    assert pool.jobs.waiting(QUEUE_SOLVE) == 16


def test_a_larger_fleet_gets_more_ahead(pool: Pool) -> None:
    open_many(pool, 4, 30)
    for node, role in (("a", "solve"), ("b", "both"), ("c", "finish"), ("d", "final")):
        pool.fleet.beat(
            Heartbeat.model_validate(
                {"node": node, "host": "h", "pid": 1, "role": role, "version": "0.1.0", "slots": 16}
            )
        )
    assert send(pool) == 64


def test_runs_take_turns(pool: Pool, redis_client: redis.Redis) -> None:
    open_many(pool, 4, 30)
    send(pool)
    shares = Counter(run for run, _ in take_jobs(redis_client, QUEUE_SOLVE))
    assert shares == {f"run_{number}": 4 for number in range(4)}


def test_a_run_that_starts_later_is_not_starved_where_one_slot_at_a_time_is_free(
    pool: Pool, redis_client: redis.Redis
) -> None:
    open_many(pool, 1, 60)
    send(pool)
    open_run(pool.ledger, a_run("late", 20))
    sent: list[str] = []
    for seed in range(40):
        redis_client.rpop(QUEUE_SOLVE)
        assert send(pool, seed) == 1
        newest = json.loads(str(redis_client.lindex(QUEUE_SOLVE, 0)))
        sent.append(json.loads(base64.b64decode(newest["body"]))[1]["run_id"])
    assert 10 <= sent.count("late") <= 20


def test_a_final_run_goes_past_a_full_queue_to_its_own(pool: Pool, redis_client: redis.Redis) -> None:
    open_many(pool, 2, 30)
    send(pool)
    open_final(pool.ledger, tasks=30)
    assert send(pool) == 30
    assert len(take_jobs(redis_client, QUEUE_FINAL)) == 30


def test_a_broker_that_is_away_leaves_the_tasks_to_be_sent_later(pool: Pool, tmp_path: Path) -> None:
    open_final(pool.ledger, tasks=3)
    broker = RedisServer.start(tmp_path)
    jobs = Jobs(Settings.load(_env_file=None, redis_url=broker.url))
    broker.stop()
    with pytest.raises(Unavailable):
        send_round(pool.ledger, jobs, pool.fleet)
    assert send(pool) == 3
