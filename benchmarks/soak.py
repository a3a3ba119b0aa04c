"""What many runs leave behind: memory and handles of workers and Redis, and keys after archiving.

    python -m benchmarks.soak [--runs 200] [--in-flight 8]

Real workers play runs of 30 tasks with a solver that does nothing, on the arena emulator, with the request
limit lifted on both sides; every run is archived and then forgotten by the pool. Memory is what the processes
hold for themselves (USS); Redis's is ``used_memory``. A slope is a straight line through the samples of the
second half, per run: what grows without bound shows there, caches that fill up at first do not. Beside it
stands the slope of all samples.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from emulators.arena.api import PREFIX
from emulators.arena.app import create_app
from emulators.arena.options import ArenaOptions
from emulators.server import ThreadedServer
from producer.archive import Archive
from producer.sweeps import Sweep, play, requests_of
from shared.models import Limits, RunRequest
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from tests.chaos.world import build_small
from tests.support.supervised import Supervised
from workers.api import Solution, Task, TaskContext

TASKS = 30
SAMPLE_SECONDS = 1.0
FORGOTTEN_SECONDS = 60.0
"""In which the last archived run must be forgotten."""

FLAT = 1.0
"""KiB per run of thirty tasks up to which a slope counts as flat."""


class Unlimited(ArenaPlatform):
    """The arena without its request limit."""

    limits = Limits(rate=1e5, burst=10**5)


class Nothing:
    """Answers at once and looks at nothing."""

    def solve(self, task: Task, context: TaskContext) -> Solution:  # noqa: ARG002
        return Solution(answer=None)


@dataclass(frozen=True)
class Sample:
    """One look. Memory in KiB."""

    runs: int
    workers: float
    redis: float
    handles: int
    connections: int


class Sampler:
    """Looks at workers and Redis once a second, on a thread of its own."""

    def __init__(self, pool: Pool, processes: Sequence[psutil.Process]) -> None:
        self._pool = pool
        self._processes = processes
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self.runs = 0
        self.samples: list[Sample] = []
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            told = self._pool.redis.do(lambda client: client.info())
            self.samples.append(
                Sample(
                    runs=self.runs,
                    workers=sum(process.memory_full_info().uss for process in self._processes) / 1024,
                    redis=told["used_memory"] / 1024,
                    handles=sum(process.num_fds() for process in self._processes),
                    connections=told["connected_clients"],
                )
            )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--in-flight", type=int, default=8, help="runs at a time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        return _soak(Path(name), given.runs, given.in_flight)


def _soak(folder: Path, runs: int, in_flight: int) -> int:
    app = create_app(ArenaOptions.of({"limit": False}), build=build_small(TASKS))
    with ThreadedServer(app) as server, RedisServer.start(folder / "redis", maxmemory_mb=256) as redis:
        settings = Settings.load(
            _env_file=None,
            redis_url=redis.url,
            arena_url=server.url + PREFIX,
            arena_key=app.arena.teams.get("team-1").key,
            platforms="arena=benchmarks.soak:Unlimited",
            solvers="nothing=benchmarks.soak:Nothing",
        )
        workers = Supervised(settings, folder, "--role", "both", "--processes", "2", "--threads", "4")
        try:
            workers.wait_until_live(4, 60)
            sampler = Sampler(workers.pool, [psutil.Process(workers.process.pid), *workers.children()])
            began = time.monotonic()
            try:
                _play(workers.pool, Unlimited(settings, workers.pool), folder, runs, in_flight, sampler)
            finally:
                sampler.stop()
            took = time.monotonic() - began
            left = _keys_left(workers.pool)
            restarts = len(workers.events("node_ended"))
        finally:
            workers.stop()
    return _report(sampler.samples, runs, took, left, restarts)


def _play(
    pool: Pool, platform: ArenaPlatform, folder: Path, runs: int, in_flight: int, sampler: Sampler
) -> None:
    def count(sweep: Sweep) -> None:
        sampler.runs = len(sweep.done)

    requests = requests_of(RunRequest(solver="nothing"), runs=runs, seeds=(), solvers=("nothing",))
    played = play(
        pool, platform, requests, in_flight=in_flight, archive=Archive(folder / "archive"), view=count
    )
    incomplete = [summary.run_id for summary in played.done if not summary.complete]
    if incomplete or len(played.done) != runs:
        raise SystemExit(f"{len(played.done)} of {runs} runs ended; incomplete: {', '.join(incomplete)}")


def _keys_left(pool: Pool) -> list[str]:
    """Keys of runs that stay although every run is archived; waits until the workers had time to forget."""
    end = time.monotonic() + FORGOTTEN_SECONDS
    while True:
        left = sorted(map(str, pool.redis.do(lambda client: list(client.scan_iter("scrimmage:run*")))))
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.5)


def _report(samples: Sequence[Sample], runs: int, took: float, left: Sequence[str], restarts: int) -> int:
    print(f"{runs} runs of {TASKS} tasks in {took:.0f} s: {runs * TASKS / took:.0f} tasks a second")
    print(f"{'':<28}{'first':>10}{'last':>10}{'slope of all':>14}{'of 2nd half':>13}   per run")
    half = [sample for sample in samples if sample.runs >= runs / 2]
    flat = True
    for label, field, unit in (
        ("memory of workers", "workers", "KiB"),
        ("memory of Redis", "redis", "KiB"),
        ("handles of workers", "handles", ""),
        ("connections to Redis", "connections", ""),
    ):
        every, late = _slope(samples, field), _slope(half, field)
        flat = flat and late <= (FLAT if unit else FLAT / 100)
        first, last = getattr(samples[0], field), getattr(samples[-1], field)
        print(f"{label:<28}{first:>10.0f}{last:>10.0f}{every:>14.3f}{late:>13.3f}   {unit}")
    print(f"keys of runs that are left: {len(left)} {' '.join(left[:5])}")
    print(f"workers that ended: {restarts}")
    verdict = flat and not left and not restarts
    print("flat" if verdict else f"NOT FLAT (more than {FLAT:g} KiB or {FLAT / 100:g} handles per run)")
    return 0 if verdict else 1


def _slope(samples: Sequence[Sample], field: str) -> float:
    if len({sample.runs for sample in samples}) < 2:
        return 0.0
    return statistics.linear_regression(
        [sample.runs for sample in samples], [getattr(sample, field) for sample in samples]
    ).slope


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())
