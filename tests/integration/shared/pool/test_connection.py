"""Patience with a real Redis that goes away, comes back, or says no."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from shared.deadline import Deadline
from shared.errors import SettingsError, Unavailable
from shared.pool.connection import MOST_CONNECTIONS, Patient, connect
from shared.pool.server import RedisServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of the test's own, to be ill-treated."""
    with RedisServer.start(tmp_path / "data") as server:
        yield server


class Sleeps:
    """Stands for time.sleep: notes each wait, and does something instead of the first one."""

    def __init__(self, instead: object = None) -> None:
        self.waits: list[float] = []
        self._instead = instead

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)
        if callable(self._instead) and len(self.waits) == 1:
            self._instead()
        else:
            time.sleep(seconds)


def test_a_call_waits_for_a_redis_that_is_restarting(tmp_path: Path) -> None:
    first = RedisServer.start(tmp_path)
    later: list[RedisServer] = []
    sleeps = Sleeps(lambda: later.append(RedisServer.start(tmp_path, port=first.port)))
    with connect(first.url) as client:
        patient = Patient(client, sleep=sleeps)
        patient.do(lambda client: client.set("kept", "yes"))
        first.stop()
        assert patient.do(lambda client: client.get("kept")) == "yes"
    assert len(sleeps.waits) >= 1
    later[0].stop()


def test_a_hundred_threads_share_a_few_connections(server: RedisServer) -> None:
    with connect(server.url) as client, ThreadPoolExecutor(100) as threads:
        patient = Patient(client)
        assert not any(
            threads.map(lambda _: patient.do(lambda client: client.blpop(["none"], 0.1)), range(100))
        )
        assert client.info("clients")["connected_clients"] == MOST_CONNECTIONS


def test_a_redis_that_stays_away_is_unavailable_when_the_deadline_comes(server: RedisServer) -> None:
    server.stop()
    with connect(f"redis://user:secret@127.0.0.1:{server.port}/0") as client:
        began = time.monotonic()
        with pytest.raises(Unavailable, match=f"Redis at 127.0.0.1:{server.port}") as caught:
            Patient(client).do(lambda client: client.ping(), deadline=Deadline.after(0.5))
        assert 0.5 <= time.monotonic() - began < 1.5
        assert "secret" not in str(caught.value)


def test_waits_grow_to_a_second_with_jitter(server: RedisServer) -> None:
    server.stop()
    now = [0.0]
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    with connect(server.url) as client:
        patient = Patient(client, sleep=sleep, chance=random.Random(7))
        with pytest.raises(Unavailable):
            patient.do(lambda client: client.ping(), deadline=Deadline.after(20, lambda: now[0]))
    assert waits[0] <= 0.05
    assert max(waits) <= 1.0
    assert sum(waits) == pytest.approx(20.0)
    assert len({round(wait, 4) for wait in waits[6:-1]}) == len(waits[6:-1])


def test_a_wrong_password_is_a_matter_of_settings_and_is_not_shown(server: RedisServer) -> None:
    with connect(server.url) as client:
        client.config_set("requirepass", "right")
    with connect(server.url.replace("redis://", "redis://:wrong-one@")) as client:
        with pytest.raises(SettingsError, match="check user and password") as caught:
            Patient(client).do(lambda client: client.ping())
        assert "wrong-one" not in str(caught.value)
    with connect(server.url) as client, pytest.raises(SettingsError):
        Patient(client).do(lambda client: client.ping())
    with connect(server.url.replace("redis://", "redis://:right@")) as client:
        assert Patient(client).do(lambda client: client.ping())


def test_a_replica_that_is_being_promoted_is_waited_for(server: RedisServer) -> None:
    with connect(server.url) as client, connect(server.url) as operator:
        operator.replicaof("127.0.0.1", "1")
        sleeps = Sleeps(lambda: operator.replicaof("NO", "ONE"))
        assert Patient(client, sleep=sleeps).do(lambda client: client.set("a", "b"))
        assert len(sleeps.waits) == 1


def test_a_redis_without_memory_is_waited_for_unless_the_caller_minds(server: RedisServer) -> None:
    with connect(server.url) as client, connect(server.url) as operator:
        operator.config_set("maxmemory", "1")
        sleeps = Sleeps(lambda: operator.config_set("maxmemory", "0"))
        patient = Patient(client, sleep=sleeps)
        with pytest.raises(redis.OutOfMemoryError):
            patient.script("fleet")(
                ["workers", "born"], ["beat", "node", "{}"], raising=(redis.OutOfMemoryError,)
            )
        assert not sleeps.waits
        patient.do(lambda client: client.set("a", "b"))
        assert len(sleeps.waits) == 1


def test_a_mistake_of_ours_is_not_repeated(server: RedisServer) -> None:
    sleeps = Sleeps()
    with connect(server.url) as client, pytest.raises(redis.ResponseError):
        Patient(client, sleep=sleeps).do(lambda client: client.execute_command("NO-SUCH-COMMAND"))
    assert not sleeps.waits


def test_a_script_is_loaded_again_where_redis_forgot_it(server: RedisServer) -> None:
    with connect(server.url) as client:
        script = Patient(client).script("fleet")
        script(["workers", "born"], ["beat", "node", "{}"])
        client.script_flush()
        assert script(["workers"], ["live", 1_000_000])[1] == "{}"
