"""Heartbeats."""

from __future__ import annotations

import redis

from shared.pool import keys
from shared.pool.connection import Patient
from shared.pool.fleet import Fleet, Heartbeat, Role


def beat_of(node: str, role: Role = "solve", busy: int = 0) -> Heartbeat:
    return Heartbeat(
        node=node,
        host="host",
        pid=1,
        role=role,
        version="0.1.0",
        slots=32,
        busy=busy,
        solvers={"baseline": "0123abcd"},
        keys={"arena": "fedc9876"},
    )


def age(client: redis.Redis, node: str, seconds: float) -> None:
    """Make a node's heartbeat older."""
    at, _, told = str(client.hget(keys.WORKERS, node)).partition(" ")
    client.hset(keys.WORKERS, node, f"{int(at) - int(seconds * 1e6)} {told}")


def test_live_workers_are_told_by_name_with_their_latest_heartbeat(
    patient: Patient, redis_client: redis.Redis
) -> None:
    fleet = Fleet(patient)
    fleet.beat(beat_of("b"))
    fleet.beat(beat_of("a"))
    fleet.beat(beat_of("a", busy=3))
    first, second = fleet.live()
    assert (first.node, first.busy, second.node) == ("a", 3, "b")
    assert first.solvers == {"baseline": "0123abcd"}
    seconds, micros = redis_client.time()
    assert abs(first.at - (seconds + micros / 1e6)) < 5


def test_a_silent_worker_is_not_live_and_is_swept_later(patient: Patient, redis_client: redis.Redis) -> None:
    fleet = Fleet(patient)
    for node, silent in (("live", 0), ("silent", 20), ("gone", 70)):
        fleet.beat(beat_of(node))
        age(redis_client, node, silent)
    assert [worker.node for worker in fleet.live()] == ["live"]
    assert [worker.node for worker in fleet.live(within=30)] == ["live", "silent"]
    assert fleet.sweep() == 1
    assert sorted(redis_client.hkeys(keys.WORKERS)) == ["live", "silent"]


def test_a_heartbeat_of_another_version_does_not_hide_the_others(
    patient: Patient, redis_client: redis.Redis
) -> None:
    fleet = Fleet(patient)
    fleet.beat(beat_of("a"))
    fleet.beat(beat_of("b"))
    redis_client.hset(
        keys.WORKERS, "b", str(redis_client.hget(keys.WORKERS, "b")).replace('"slots"', '"places"')
    )
    assert [worker.node for worker in fleet.live()] == ["a"]


def test_only_some_roles_solve() -> None:
    assert [beat_of("a", role).solves for role in ("solve", "both", "finish", "final")] == [
        True,
        True,
        False,
        False,
    ]


def test_the_first_heartbeat_begins_the_proof_that_nothing_was_lost(
    patient: Patient, redis_client: redis.Redis
) -> None:
    redis_client.delete(keys.BORN)
    fleet = Fleet(patient)
    fleet.beat(beat_of("a"))
    born = redis_client.get(keys.BORN)
    assert born
    fleet.beat(beat_of("a"))
    assert redis_client.get(keys.BORN) == born
