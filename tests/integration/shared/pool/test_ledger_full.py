"""A Redis that is full refuses a transition as a whole, or carries it out as a whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from shared.models import Receipt, RunStatus, Scorecard, Solution, TaskStatus
from shared.pool.connection import Patient
from shared.pool.ledger import Ledger
from tests.support.ledger import LEASE, HandClock, a_run, lease, lease_run, open_run


class Room:
    """Redis without room, until somebody has waited for it once."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client
        self.limit = client.config_get("maxmemory")["maxmemory"]
        self.waits = 0

    def fill(self) -> None:
        self.client.config_set("maxmemory", 1)

    def make(self, seconds: float = 0.0) -> None:
        self.waits += seconds > 0
        self.client.config_set("maxmemory", self.limit)


@pytest.fixture
def room(redis_client: redis.Redis) -> Iterator[Room]:
    room = Room(redis_client)
    yield room
    room.make()


def test_a_whole_run_is_played_with_redis_full_before_every_step(
    redis_client: redis.Redis, room: Room, clock: HandClock
) -> None:
    ledger = Ledger(Patient(redis_client, sleep=room.make), clock=clock)
    ref = open_run(ledger, a_run(tasks=1))

    room.fill()
    assert ledger.take_unsent(ref, 1) == ["t1"]
    room.fill()
    held = lease(ledger, ref)
    room.fill()
    ledger.come_back(held, 1, {"n": 1})
    assert ledger.task(ref, "t1").status is TaskStatus.WAITING
    clock.advance(1)
    room.fill()
    assert ledger.wake_due() == [(ref, "t1")]
    room.fill()
    lease(ledger, ref, owner="w2")
    clock.advance(LEASE)
    room.fill()
    assert ledger.expire_leases(grace=False) == [(ref, "t1", TaskStatus.QUEUED)]
    held = lease(ledger, ref, owner="w3")
    room.fill()
    ledger.decide(held, Solution(answer=1))
    room.fill()
    assert ledger.report(held).finish
    drain = lease_run(ledger, ref)
    room.fill()
    assert list(ledger.unsubmitted(drain)) == ["t1"]
    room.fill()
    ledger.submitting(drain, ["t1"])
    room.fill()
    ledger.submitted(drain, Receipt(task_id="t1"))
    room.fill()
    ledger.sealed(drain, RunStatus.FINISHED, Scorecard())

    room.make()
    task, state = ledger.task(ref, "t1"), ledger.run(ref)
    assert (task.deliveries, task.kills, task.status) == (3, 1, TaskStatus.SUBMITTED)
    assert state is not None
    assert state.status is RunStatus.FINISHED
    assert room.waits > 0, "Redis was never full"
    ledger.remove(ref)
    assert set(redis_client.keys()) <= {"scrimmage:born"}
