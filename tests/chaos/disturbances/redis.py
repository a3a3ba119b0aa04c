"""Redis goes away, comes back without its data, is full, or slow."""

from __future__ import annotations

import time

import psutil

from tests.chaos.disturbance import disturbance
from tests.chaos.setup import Setup
from tests.chaos.stage import Stage

REDIS_BACK = 5.0
"""Seconds until work flows once more."""


@disturbance(Setup(tasks=12, seconds=1.0), quick=True)
def redis_stands_still(stage: Stage) -> None:
    """Redis does not answer for five seconds: more than two leases."""
    ref = stage.open()
    stage.until_leased(ref, 4)
    stage.pause(0, 1)
    server = psutil.Process(stage.redis.pid)
    server.suspend()
    time.sleep(5)
    server.resume()
    _measure_flow(stage)


@disturbance(Setup(tasks=12, seconds=1.0), quick=True)
def redis_killed(stage: Stage) -> None:
    """kill -9 of Redis; some seconds later it is back with its data."""
    ref = stage.open()
    stage.until_leased(ref, 4)
    stage.pause(0, 1)
    stage.kill_redis()
    stage.pause(0.2, 4)
    stage.restart_redis()
    _measure_flow(stage)


@disturbance(Setup(tasks=12, seconds=1.0), excused=("done", "score", "cost"), quick=True)
def redis_lost(stage: Stage) -> None:
    """Redis is back without its data; `resume` asks the platform.

    What was billed before is forgotten with the ledger. A task whose tool calls nobody remembers gets no
    further effects, so its score may suffer; it is submitted all the same.
    """
    command = stage.command("run", "--solver", "steady")
    ref = stage.until_known()
    stage.until_leased(ref, 4)
    stage.pause(0, 3)
    stage.kill_redis()
    stage.restart_redis(empty=True)
    command.kill()
    resumed = stage.command("resume")
    stage.until_known()
    resumed.kill()


@disturbance(Setup(tasks=12, seconds=0.5), quick=True)
def redis_full(stage: Stage) -> None:
    """Redis takes nothing for some seconds: its memory is used up."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    stage.pause(0, 1)
    stage.pool.redis.do(lambda client: client.config_set("maxmemory", "1mb"))
    stage.pause(2, 5)
    stage.pool.redis.do(lambda client: client.config_set("maxmemory", "64mb"))
    _measure_flow(stage)


@disturbance(Setup(tasks=12, seconds=0.5))
def redis_slow(stage: Stage) -> None:
    """Redis answers nobody for a second, again and again."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    for _ in range(4):
        stage.pool.redis.do(lambda client: client.client_pause(stage.chance.randint(500, 1500)))
        stage.pause(0.3, 1)


def _measure_flow(stage: Stage) -> None:
    """Tasks are taken up again soon: of the run that was under way, or of one that is opened now."""
    back = time.monotonic()
    before = stage.leases()
    stage.open()
    stage.measure("Redis is back and work flows", REDIS_BACK, lambda: stage.leases() > before, back)
