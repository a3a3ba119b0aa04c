"""What every test may ask for: a real Redis of its own test session, and a pool on it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator

import pytest
import redis

from shared.pool import keys
from shared.pool.connection import Patient, connect
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from tests.support import examples  # noqa: F401 - sets how many examples property tests get

# Tests start some two hundred processes of ours: what they import is compiled once, not in each of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_LONGEST_FIRST = ("e2e/test_", "integration/workers/", "integration/producer/", "integration/")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting makes stays: to look for garbage in it costs a sixth of all time that tests compute."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process sits over one of them at the end.

    Within each kind the order stays random.
    """

    def rank(item: pytest.Item) -> int:
        path = item.path.as_posix()
        return next((at for at, part in enumerate(_LONGEST_FIRST) if part in path), len(_LONGEST_FIRST))

    items.sort(key=rank)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """An embedded server in a temporary folder; one per pytest process."""
    with RedisServer.start(tmp_path_factory.mktemp("redis"), maxmemory_mb=128) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The server's URL, its data set as on a new data folder."""
    with connect(redis_server.url) as client:
        client.flushall()
        client.set(keys.BORN, 0)
    return redis_server.url


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A plain client with str replies, to look at what is stored."""
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def patient(redis_client: redis.Redis) -> Patient:
    return Patient(redis_client)


@pytest.fixture
def pool(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """A pool on the test's Redis; the settings of this machine's user do not reach it."""
    for name in [name for name in os.environ if name.startswith("SCRIMMAGE_")]:
        monkeypatch.delenv(name)
    with Pool.connect(Settings.load(_env_file=None, redis_url=redis_url)) as pool:
        yield pool
