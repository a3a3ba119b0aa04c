"""The bucket with real callers: threads and processes that sleep until their turn."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from shared.deadline import Deadline
from shared.errors import DeadlinePassed, Unavailable
from shared.models import Limits, RunRef
from shared.pool import keys
from shared.pool.bucket import Bucket, Lane
from shared.pool.connection import Patient, connect
from shared.pool.server import RedisServer

CALLERS = """
import json, os, redis, sys
from pathlib import Path
from shared.deadline import Deadline
from shared.models import Limits
from shared.pool.bucket import Bucket, Lane
from shared.pool.connection import Patient
from shared.pool.scripts import source

def micros(time):
    return time[0] * 1_000_000 + time[1]

class Watching(Patient):
    "Notes by Redis's clock when each booking goes: its time and its script in one transaction."
    def script(self, name):
        script = self.client.register_script(source(name))
        def call(keys, args, **_):
            with self.client.pipeline() as both:
                both.time()
                script(keys, args, client=both)
                now, answer = both.execute()
            booked.append(micros(now) + answer[1])
            return answer
        return call

url, processes, count, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
booked, woke = [], []
for number in range(processes):
    if os.fork() == 0:
        client = redis.Redis.from_url(url, decode_responses=True, socket_timeout=None)
        bucket = Bucket(Watching(client), "many", Limits(100, 20), margin_tokens=2, margin_rate=0.005)
        bucket._listening()
        client.incr("ready")
        client.blpop(["go"])
        for _ in range(count):
            bucket.acquire(Lane.FINISH, Deadline.after(60))
            woke.append(micros(client.time()))
        (folder / str(number)).write_text(json.dumps([booked, woke]))
        os._exit(0)
for _ in range(processes):
    assert os.wait()[1] == 0
"""
RATE, BURST = 100 * 0.995, 18


@pytest.fixture
def make(redis_url: str) -> Iterator[Callable[..., Bucket]]:
    """Makes buckets over connections of their own, as if each were another process's."""
    made: list[tuple[Bucket, redis.Redis]] = []

    def bucket(name: str = "account", rate: float = 100.0, burst: int = 20) -> Bucket:
        client = connect(redis_url)
        made.append(
            (Bucket(Patient(client), name, Limits(rate, burst), margin_tokens=2, margin_rate=0.005), client)
        )
        return made[-1][0]

    yield bucket
    for bucket_, client in made:
        bucket_.close()
        client.close()


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as executor:
        yield executor


def drain(bucket: Bucket) -> None:
    """Use up the burst."""
    for _ in range(bucket.state().available):
        bucket.acquire(Lane.FINISH, Deadline.after(1))


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def wait_for_booking(client: redis.Redis, number: int) -> None:
    wait_until(lambda: int(client.hget(keys.bucket("account"), "granted") or 0) >= number)


def test_many_processes_share_the_rate_to_the_letter(
    redis_url: str, redis_client: redis.Redis, tmp_path: Path
) -> None:
    processes, each = 4, 110
    command = [sys.executable, "-c", CALLERS, redis_url, str(processes), str(each), str(tmp_path)]
    with subprocess.Popen(command) as callers:
        wait_until(lambda: redis_client.get("ready") == str(processes))
        Bucket(
            Patient(redis_client), "warm-up", Limits(1, 1), margin_tokens=2, margin_rate=0.005
        ).state()  # loads the script
        redis_client.config_resetstat()
        redis_client.rpush("go", *range(processes))
        assert callers.wait(60) == 0
    told = [json.loads((tmp_path / str(number)).read_text()) for number in range(processes)]

    goes = sorted(at for booked, _ in told for at in booked)
    assert len(goes) == processes * each
    for first in range(len(goes)):  # every window that begins with a grant, and thereby every window
        for last in range(first, len(goes)):
            assert last - first + 1 <= BURST + RATE * (goes[last] - goes[first]) / 1e6 + 0.01

    calls = redis_client.info("commandstats")["cmdstat_evalsha"]["calls"]
    assert calls == processes * each

    took = (max(at for _, woke in told for at in woke) - goes[0]) / 1e6
    assert took == pytest.approx((processes * each - BURST) / RATE, rel=0.02)


def test_a_request_that_cannot_go_before_the_deadline_is_refused_at_once_and_costs_nothing(
    make: Callable[..., Bucket],
) -> None:
    bucket = make(rate=1.0, burst=4)
    drain(bucket)
    began = time.monotonic()
    for lane in Lane:
        with pytest.raises(DeadlinePassed, match="no request to account"):
            bucket.acquire(lane, Deadline.after(0.5))
    assert time.monotonic() - began < 0.4
    assert bucket.state().granted == 2


def test_a_sleeper_of_another_process_waits_for_the_pause_and_books_again(
    make: Callable[..., Bucket], workers: ThreadPoolExecutor, redis_client: redis.Redis
) -> None:
    sleeper, other = make(rate=4.0, burst=3), make(rate=4.0, burst=3)
    drain(sleeper)
    began = time.monotonic()
    waiting = workers.submit(sleeper.acquire, Lane.FINISH, Deadline.after(10))
    wait_for_booking(redis_client, 2)
    assert other.pause(0.8)
    waiting.result()
    assert time.monotonic() - began >= 0.8
    assert other.state().granted == 2  # the void booking is not counted


def test_only_one_of_many_callers_with_the_same_429_begins_the_pause(
    make: Callable[..., Bucket], workers: ThreadPoolExecutor
) -> None:
    bucket = make()
    began = list(workers.map(lambda _: bucket.pause(1.0), range(16)))
    assert sorted(began) == [False] * 15 + [True]
    assert 0 < bucket.state().paused_for <= 1.0


def test_a_sleeper_whose_subscription_broke_asks_redis(
    make: Callable[..., Bucket], workers: ThreadPoolExecutor, redis_client: redis.Redis
) -> None:
    bucket = make(rate=4.0, burst=3)
    drain(bucket)
    redis_client.config_resetstat()
    waiting = workers.submit(bucket.acquire, Lane.FINISH, Deadline.after(10))
    wait_for_booking(redis_client, 2)
    redis_client.client_kill_filter(_type="pubsub")
    waiting.result()
    assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] == 2


def test_requests_are_counted_for_a_run_that_is_in_the_ledger(
    make: Callable[..., Bucket], redis_client: redis.Redis
) -> None:
    bucket = make()
    known, unknown = RunRef(platform="arena", run_id="known"), RunRef(platform="arena", run_id="unknown")
    redis_client.hset(keys.run(known), "status", "solving")
    for ref in (known, known, unknown):
        bucket.acquire(Lane.TOOLS, Deadline.after(5), run=ref)
    assert redis_client.hget(keys.run(known), "requests") == "2"
    assert not redis_client.exists(keys.run(unknown))


def test_the_margin_is_taken_off_the_limits(make: Callable[..., Bucket]) -> None:
    state = make(rate=10, burst=6).state()
    assert state.rate == pytest.approx(9.95, rel=1e-3)
    assert state.burst == 4


def test_callers_wait_while_redis_is_away_and_what_they_had_booked_still_holds(tmp_path: Path) -> None:
    server = RedisServer.start(tmp_path)
    with connect(server.url) as client, ThreadPoolExecutor(2) as workers:
        bucket = Bucket(Patient(client), "account", Limits(1.0, 3), margin_tokens=2, margin_rate=0.005)
        drain(bucket)
        sleeper = workers.submit(bucket.acquire, Lane.FINISH, Deadline.after(30))
        wait_for_booking(client, 2)
        server.stop()
        newcomer = workers.submit(bucket.acquire, Lane.FINISH, Deadline.after(30))
        with pytest.raises(Unavailable):
            bucket.acquire(Lane.FINISH, Deadline.after(1.5))
        assert not sleeper.done()  # its turn has come, but nobody can tell whether a pause has too
        assert not newcomer.done()
        with RedisServer.start(tmp_path, port=server.port):
            sleeper.result()
            newcomer.result()
            assert bucket.state().granted == 3
        bucket.close()


def test_sleepers_book_again_where_redis_came_back_empty(tmp_path: Path) -> None:
    server = RedisServer.start(tmp_path / "first")
    with connect(server.url) as client, ThreadPoolExecutor(8) as workers:
        bucket = Bucket(Patient(client), "account", Limits(10.0, 3), margin_tokens=2, margin_rate=0.005)
        drain(bucket)
        sleepers: list[Future[None]] = [
            workers.submit(bucket.acquire, Lane.FINISH, Deadline.after(30)) for _ in range(6)
        ]
        wait_for_booking(client, 7)
        server.stop()
        with RedisServer.start(tmp_path / "second", port=server.port) as empty:
            with connect(empty.url) as other:
                other.delete(keys.BORN)
            began = time.monotonic()
            for sleeper in sleepers:
                sleeper.result()
            assert time.monotonic() - began >= 0.4  # those that were due book at the plain rate
        bucket.close()


def test_a_forked_child_subscribes_for_itself(redis_url: str) -> None:
    script = (
        "import os, sys\n"
        "from shared.deadline import Deadline\n"
        "from shared.models import Limits\n"
        "from shared.pool import keys\n"
        "from shared.pool.bucket import Bucket, Lane\n"
        "from shared.pool.connection import Patient, connect\n"
        "patient, limits = Patient(connect(sys.argv[1])), Limits(50, 3)\n"
        "bucket = Bucket(patient, 'forked', limits, margin_tokens=2, margin_rate=0.005)\n"
        "for _ in range(2): bucket.acquire(Lane.TOOLS, Deadline.after(5))\n"
        "if os.fork() == 0:\n"
        "    for _ in range(2): bucket.acquire(Lane.TOOLS, Deadline.after(5))\n"
        "    ((channel, subscribed),) = bucket._patient.client.pubsub_numsub(keys.pauses('forked'))\n"
        "    print(bucket.state().granted, subscribed, flush=True)\n"
        "    os._exit(0)\n"
        "assert os.wait()[1] == 0\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, redis_url], capture_output=True, text=True, timeout=30, check=True
    )
    assert told.stdout.split() == ["4", "2"], told.stderr


def test_closing_ends_the_subscription(make: Callable[..., Bucket]) -> None:
    others = set(threading.enumerate())
    bucket = make()
    bucket.acquire(Lane.FETCH, Deadline.after(5))
    started = set(threading.enumerate()) - others
    listeners = [thread for thread in started if thread.name == "bucket-pauses"]
    assert listeners
    bucket.close()
    for thread in listeners:
        thread.join(3)
    assert not any(thread.is_alive() for thread in listeners)
