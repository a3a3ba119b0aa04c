"""The bucket beside a polling one and the ideal: how long, how many Redis calls, how fair.

    python -m benchmarks.bucket [--rounds 3] [--processes 8] [--each 50]

All processes want their requests at once, in one lane, from a full bucket of 100/s and 20 at once. The
polling bucket is the usual one: a Lua script that says yes or no, and callers that sleep 50 ms after a no.
The ideal is (requests - burst) / rate; nothing that keeps the limit can be faster. Medians over the rounds.
The last line is the limit beside it: how many bookings a second one process gets through when nothing has
to wait.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from benchmarks.command import arguments
from shared.deadline import Deadline
from shared.models import Limits
from shared.pool import keys
from shared.pool.bucket import Bucket, Lane
from shared.pool.connection import Patient, connect
from shared.pool.server import RedisServer

RATE, BURST = 100, 20
POLL_SECONDS = 0.05
POLLED = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(tonumber(ARGV[2]),
  tonumber(state[1] or ARGV[2]) + (now - tonumber(state[2] or now)) * tonumber(ARGV[1]))
local yes = tokens >= 1 and 1 or 0
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens - yes), 'at', string.format('%.6f', now))
return yes
"""


@dataclass(frozen=True)
class Round:
    """What one round took."""

    seconds: float
    calls: float
    longest_wait: float
    spread: float


def reserving(client: redis.Redis) -> Callable[[], None]:
    bucket = Bucket(Patient(client), "benchmark", Limits(RATE, BURST), margin_tokens=0, margin_rate=0)
    bucket.state()
    return lambda: bucket.acquire(Lane.TOOLS, Deadline.after(60))


def polling(client: redis.Redis) -> Callable[[], None]:
    script = client.register_script(POLLED)
    script(["warm-up"], [RATE, BURST])

    def acquire() -> None:
        while not script(["polled"], [RATE, BURST]):
            time.sleep(POLL_SECONDS)

    return acquire


def caller(
    url: str, way: Callable[[redis.Redis], Callable[[], None]], each: int, ready: Any, told: Any
) -> None:
    with connect(url) as client:
        acquire = way(client)
        ready.wait()
        waits = []
        for _ in range(each):
            began = time.monotonic()
            acquire()
            waits.append(time.monotonic() - began)
        told.put(json.dumps([sum(waits), max(waits)]))


def play(url: str, way: Callable[[redis.Redis], Callable[[], None]], processes: int, each: int) -> Round:
    context = multiprocessing.get_context("fork")
    ready, told = context.Barrier(processes + 1), context.Queue()
    callers = [context.Process(target=caller, args=(url, way, each, ready, told)) for _ in range(processes)]
    with connect(url) as client:
        client.flushall()
        client.set(keys.BORN, 0)
        for process in callers:
            process.start()
        while ready.n_waiting < processes:
            time.sleep(0.01)
        client.delete(keys.bucket("benchmark"))  # full again, whatever getting ready took
        client.config_resetstat()
        ready.wait()
        began = time.monotonic()
        waits = [json.loads(told.get(timeout=120)) for _ in callers]
        seconds = time.monotonic() - began
        for process in callers:
            process.join()
        calls = client.info("commandstats")["cmdstat_evalsha"]["calls"]
    totals = [total for total, _ in waits]
    longest = max(longest for _, longest in waits)
    return Round(seconds, calls / (processes * each), longest, (max(totals) - min(totals)) / each)


def bookings_per_second(url: str) -> float:
    with connect(url) as client:
        bucket = Bucket(Patient(client), "unlimited", Limits(1e6, 10**6), margin_tokens=0, margin_rate=0)
        began = time.monotonic()
        for _ in range(3_000):
            bucket.acquire(Lane.TOOLS, Deadline.after(60))
        seconds = time.monotonic() - began
        bucket.close()
    return 3_000 / seconds


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--each", type=int, default=50)
    options = parser.parse_args()
    requests = options.processes * options.each
    print(f"{options.processes} processes, {requests} requests, {RATE}/s and {BURST} at once")
    print(
        f"{'':10}  {'seconds':>8}  {'calls/request':>13}  {'longest wait':>12}  {'spread of mean waits':>20}"
    )
    print(f"{'ideal':10}  {(requests - BURST) / RATE:8.3f}  {1:13.2f}")
    with tempfile.TemporaryDirectory() as folder, RedisServer.start(Path(folder)) as server:
        for name, way in (("reserving", reserving), ("polling", polling)):
            rounds = [play(server.url, way, options.processes, options.each) for _ in range(options.rounds)]
            seconds, calls, longest, spread = (
                statistics.median(getattr(one, field) for one in rounds)
                for field in ("seconds", "calls", "longest_wait", "spread")
            )
            print(f"{name:10}  {seconds:8.3f}  {calls:13.2f}  {longest:10.3f} s  {spread * 1000:17.1f} ms")
        print(f"bookings that need not wait: {bookings_per_second(server.url):.0f}/s per process")


if __name__ == "__main__":
    main()
