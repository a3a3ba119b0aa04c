from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.models import Limits
from shared.platforms.arena.platform import ArenaPlatform
from shared.platforms.http import Http
from shared.platforms.origin import Origin
from shared.pool.bucket import Bucket
from shared.pool.connection import Patient, connect
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from tests.support.played_arena import PlayedArena
from tests.support.scripted import ScriptedServer

KEY = "arena_0123456789abcdef"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted


class RecordingBucket(Bucket):
    """A bucket that remembers what its callers said of pauses."""

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient, "test", Limits(1000, 1000), margin_tokens=0, margin_rate=0)
        self.pauses: list[tuple[float, bool]] = []

    def pause(self, seconds: float) -> bool:
        began = super().pause(seconds)
        self.pauses.append((seconds, began))
        return began


@pytest.fixture(scope="session")
def recording_bucket(redis_server: RedisServer) -> Iterator[RecordingBucket]:
    with connect(redis_server.url) as client:
        made = RecordingBucket(Patient(client))
        yield made
        made.close()


@pytest.fixture
def bucket(recording_bucket: RecordingBucket, redis_url: str) -> RecordingBucket:
    recording_bucket.pauses.clear()
    return recording_bucket


@pytest.fixture
def waits() -> list[float]:
    """Seconds that the client under test would have slept between tries."""
    return []


MakeHttp = Callable[..., Http]


@pytest.fixture
def make_http(bucket: RecordingBucket, waits: list[float]) -> Iterator[MakeHttp]:
    """Makes a client with a key, whose back-off takes no time but is written down."""
    made: list[Http] = []

    def make(url: str, key: str = KEY, timeout: float = 5.0, **options: object) -> Http:
        origin = Origin(
            url,
            name="arena",
            headers=lambda: {"Authorization": f"Bearer {key}"},
            connections=40,
            timeout=timeout,
        )
        http = Http(origin, bucket=lambda: bucket, **({"sleep": waits.append} | options))  # type: ignore[arg-type]
        made.append(http)
        return http

    yield make
    for http in made:
        http.close()


@pytest.fixture
def http(server: ScriptedServer, make_http: MakeHttp) -> Http:
    return make_http(server.url)


@pytest.fixture
def arena(tmp_path: Path, redis_url: str) -> Iterator[PlayedArena]:
    """An emulator that the test starts with the faults and choices that it needs."""
    played = PlayedArena(tmp_path, redis_url)
    yield played
    played.stop()


def at_once(_: float) -> None:
    """Do not wait between tries and looks."""


@pytest.fixture
def scripted_platform(server: ScriptedServer, redis_url: str) -> Iterator[ArenaPlatform]:
    """The arena's platform in front of the scripted server."""
    settings = Settings.load(redis_url=redis_url, arena_url=server.url, arena_key=KEY)
    with Pool.connect(settings) as pool:
        platform = ArenaPlatform(settings, pool, sleep=at_once)
        yield platform
        platform.close()
