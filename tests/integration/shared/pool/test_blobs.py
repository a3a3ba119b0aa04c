"""The blob cache on a real Redis."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from shared.pool import keys
from shared.pool.blobs import Blobs
from shared.pool.connection import connect
from shared.pool.server import RedisServer


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def cache(redis_url: str) -> Iterator[redis.Redis]:
    with connect(redis_url, decode=False) as client:
        yield client


def make(cache: redis.Redis, *, ttl: float = 60, cap_bytes: int = 10_000, local_bytes: int = 0) -> Blobs:
    """Blobs that keep nothing locally, unless asked to."""
    return Blobs(cache, ttl=ttl, cap_bytes=cap_bytes, local_bytes=local_bytes)


def test_what_one_process_puts_another_gets_byte_for_byte(cache: redis.Redis) -> None:
    data = bytes(range(256)) * 4
    name = make(cache).put(data)
    assert name == sha(data)
    assert make(cache).get(name) == data


def test_an_empty_file_is_a_blob_too(cache: redis.Redis) -> None:
    assert make(cache).get(make(cache).put(b"")) == b""


def test_an_unknown_blob_is_none(cache: redis.Redis) -> None:
    assert make(cache).get(sha(b"never seen")) is None


def test_a_corrupted_blob_is_dropped_and_never_served(cache: redis.Redis) -> None:
    blobs = make(cache)
    name = blobs.put(b"the truth")
    cache.set(keys.blob(name), b"not at all", keepttl=True)
    assert blobs.get(name) is None
    assert not cache.exists(keys.blob(name))
    assert blobs.have([name]) == set()


def test_use_renews_the_ttl(cache: redis.Redis) -> None:
    blobs = make(cache, ttl=100)
    got, asked, idle = (blobs.put(data) for data in (b"got", b"asked", b"idle"))
    for name in (got, asked, idle):
        cache.expire(keys.blob(name), 5)
    blobs.get(got)
    blobs.have([asked])
    assert cache.ttl(keys.blob(got)) > 90
    assert cache.ttl(keys.blob(asked)) > 90
    assert cache.ttl(keys.blob(idle)) <= 5


def test_use_in_this_process_renews_the_ttl_for_the_others_now_and_then(cache: redis.Redis) -> None:
    now = [0.0]
    blobs = Blobs(cache, ttl=100, cap_bytes=10_000, local_bytes=10_000, clock=lambda: now[0])
    name = blobs.put(b"used here")
    cache.expire(keys.blob(name), 5)
    now[0] = 20.0
    blobs.get(name)
    assert cache.ttl(keys.blob(name)) <= 5
    now[0] = 26.0
    blobs.get(name)
    assert cache.ttl(keys.blob(name)) > 90


def test_beyond_the_cap_the_longest_unused_go_first(cache: redis.Redis) -> None:
    blobs = make(cache, cap_bytes=3_000)
    first, second, third = (blobs.put(letter * 1_000) for letter in (b"a", b"b", b"c"))
    blobs.get(first)
    fourth = blobs.put(b"d" * 1_000)
    assert blobs.have([first, second, third, fourth]) == {first, third, fourth}
    assert int(cache.hget(keys.BLOB_SIZES, "total") or 0) == 3_000
    assert cache.zcard(keys.BLOBS) == 3


def test_putting_a_blob_again_counts_it_once(cache: redis.Redis) -> None:
    blobs = make(cache)
    for _ in range(3):
        blobs.put(b"x" * 100)
    assert cache.hget(keys.BLOB_SIZES, "total") == b"100"


def test_a_blob_that_redis_evicted_is_forgotten_when_asked_for(cache: redis.Redis) -> None:
    blobs = make(cache)
    name = blobs.put(b"x" * 100)
    cache.delete(keys.blob(name))
    assert blobs.get(name) is None
    assert cache.hget(keys.BLOB_SIZES, "total") == b"0"
    assert cache.zcard(keys.BLOBS) == 0


def test_a_lost_index_does_not_stop_the_cache(cache: redis.Redis) -> None:
    blobs = make(cache, cap_bytes=1_000)
    blobs.put(b"x" * 900)
    cache.delete(keys.BLOBS)
    name = blobs.put(b"y" * 900)
    assert blobs.get(name) is not None
    assert blobs.get(blobs.put(b"z" * 900)) is not None


def test_what_is_there_is_told_in_one_round_trip(cache: redis.Redis) -> None:
    blobs = make(cache)
    names = [blobs.put(bytes([number])) for number in range(50)]
    cache.config_resetstat()
    assert blobs.have([*names, sha(b"no")]) == set(names)
    assert blobs.have([]) == set()
    assert cache.info("commandstats")["cmdstat_evalsha"]["calls"] == 1


def test_a_blob_used_again_in_this_process_costs_no_call(cache: redis.Redis) -> None:
    make(cache).put(b"once")
    blobs = make(cache, local_bytes=1_000)
    blobs.get(sha(b"once"))
    cache.config_resetstat()
    assert blobs.get(sha(b"once")) == b"once"
    assert "cmdstat_evalsha" not in cache.info("commandstats")


def test_this_process_keeps_the_ones_used_last(cache: redis.Redis) -> None:
    blobs = make(cache, local_bytes=2_000)
    first, second = blobs.put(b"a" * 1_000), blobs.put(b"b" * 1_000)
    blobs.get(first)
    blobs.put(b"c" * 1_000)
    cache.flushall()
    assert blobs.get(first) == b"a" * 1_000
    assert blobs.get(second) is None


def test_a_blob_that_is_put_again_takes_no_more_of_the_local_room(cache: redis.Redis) -> None:
    blobs = make(cache, local_bytes=2_000)
    first = blobs.put(b"a" * 900)
    for _ in range(5):
        blobs.put(b"b" * 900)
    cache.flushall()
    assert blobs.get(first) == b"a" * 900


def test_a_blob_larger_than_the_cap_pushes_nothing_out(cache: redis.Redis) -> None:
    blobs = make(cache, cap_bytes=1_000, local_bytes=10_000)
    small = blobs.put(b"small")
    large = blobs.put(b"x" * 5_000)
    assert blobs.get(large) == b"x" * 5_000
    assert make(cache).have([small, large]) == {small}


def test_a_full_redis_costs_the_cache_but_not_the_blob(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path) as server, connect(server.url, decode=False) as cache:
        cache.config_set("maxmemory", "1")
        blobs = make(cache, local_bytes=1_000)
        began = time.monotonic()
        name = blobs.put(b"only here")
        assert blobs.get(name) == b"only here"
        assert make(cache).get(name) is None
        assert make(cache).have([name]) == set()
        assert time.monotonic() - began < 2


def test_blobs_are_evicted_before_anything_without_a_ttl(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path, maxmemory_mb=32) as server, connect(server.url, decode=False) as cache:
        for number in range(200):
            cache.zadd(keys.LEASES, {f"arena:run|t{number}": number})
            cache.hset(f"{keys.PREFIX}run:arena:r{number}", "status", "solving")
        blobs = make(cache, cap_bytes=2**30)
        for number in range(80):
            blobs.put(number.to_bytes(2, "big") * 2**19)
        assert cache.info("stats")["evicted_keys"] > 0
        assert cache.zcard(keys.LEASES) == 200
        assert all(cache.exists(f"{keys.PREFIX}run:arena:r{number}") for number in range(200))


def test_a_redis_that_goes_away_while_putting_costs_the_cache_but_not_the_blob(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.pool.blobs._PUT_SECONDS", 0.2)
    server = RedisServer.start(tmp_path)
    with connect(server.url, decode=False) as cache:
        blobs = make(cache, local_bytes=1_000)
        server.stop()
        assert blobs.get(blobs.put(b"only here")) == b"only here"
