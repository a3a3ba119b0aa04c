"""What many runs leave behind: memory and handles of workers and Redis, and keys after archiving.

    python -m benchmarks.soak [--runs 200] [--in-flight 8]

Real workers play runs of 30 tasks with a solver that does nothing, on the arena emulator, with the request
limit lifted on both sides; every run is archived and then forgotten by the pool. Memory is what the processes
hold for themselves (USS); Redis's is ``used_memory``.

The runs are played in twelve rounds, and what is held is looked at when the pool is at rest after each: idle
connections have been closed, and every run is forgotten. A slope is a straight line through these looks, per
run, of each third of the rounds. The first third is the warm-up, with twice as many runs in flight, so that
pools of connections and memory grow to more than is needed later; what grows without bound grows in the last
one too.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.command import arguments
from emulators.arena.api import PREFIX
from emulators.arena.app import create_app
from emulators.arena.options import ArenaOptions
from emulators.server import ThreadedServer
from producer.archive import Archive
from producer.sweeps import play, requests_of
from shared.models import Limits, RunRequest
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from tests.chaos.world import build_small
from tests.support.supervised import Supervised
from workers.api import Solution, Task, TaskContext

TASKS = 30
ROUNDS = 12
IDLE_SECONDS = 5.0
"""After which idle connections to the platform are closed, with the next request."""
FORGOTTEN_SECONDS = 60.0
"""In which archived runs must be forgotten."""

FLAT_KIB, FLAT_HANDLES = 10.0, 0.2
"""Slopes of the last third that count as flat, per run, all workers together. An allocator that settles still
shows about 5 KiB after 200 runs, and 1 after 1,000; one object of 350 bytes left by each task would be 10."""


class Unlimited(ArenaPlatform):
    """The arena without its request limit."""

    limits = Limits(rate=1e5, burst=10**5)


class Nothing:
    """Answers at once and looks at nothing."""

    def solve(self, task: Task, context: TaskContext) -> Solution:  # noqa: ARG002
        return Solution(answer=None)


@dataclass(frozen=True)
class Look:
    """What is held when so many runs are over. Memory in KiB."""

    runs: int
    workers: float
    redis: float
    handles: int
    connections: int


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=200, help="at least 60")
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
            processes = [psutil.Process(workers.process.pid), *workers.children()]
            platform = Unlimited(settings, workers.pool)
            looks: list[Look] = []
            seconds = 0.0
            for number in range(1, ROUNDS + 1):
                done = runs * number // ROUNDS
                began = time.monotonic()
                more = done - (looks[-1].runs if looks else 0)
                warm_up = number <= ROUNDS // 3
                _play(workers.pool, platform, folder, more - 1, in_flight * (2 if warm_up else 1))
                seconds += time.monotonic() - began
                time.sleep(IDLE_SECONDS)
                _play(workers.pool, platform, folder, 1, 1)
                left = _keys_left(workers.pool)
                looks.append(_look(done, workers.pool, processes))
            restarts = len(workers.events("node_ended"))
        finally:
            workers.stop()
    print(f"{runs} runs of {TASKS} tasks: {(runs - ROUNDS) * TASKS / seconds:.0f} tasks a second")
    return _report(looks, left, restarts)


def _play(pool: Pool, platform: ArenaPlatform, folder: Path, runs: int, in_flight: int) -> None:
    requests = requests_of(RunRequest(solver="nothing"), runs=runs, seeds=(), solvers=("nothing",))
    archive = Archive(folder / "archive")
    played = play(pool, platform, requests, in_flight=in_flight, archive=archive, view=lambda _: None)
    incomplete = [summary.run_id for summary in played.done if not summary.complete]
    if incomplete or len(played.done) != runs:
        raise SystemExit(f"{len(played.done)} of {runs} runs ended; incomplete: {', '.join(incomplete)}")


def _look(runs: int, pool: Pool, processes: Sequence[psutil.Process]) -> Look:
    told = pool.redis.do(lambda client: client.info())
    look = Look(
        runs=runs,
        workers=sum(process.memory_full_info().uss for process in processes) / 1024,
        redis=told["used_memory"] / 1024,
        handles=sum(process.num_fds() for process in processes),
        connections=told["connected_clients"],
    )
    print(
        f"after {runs:>5} runs: workers {look.workers:.0f} KiB, Redis {look.redis:.0f} KiB, "
        f"{look.handles} handles, {look.connections} connections to Redis",
        file=sys.stderr,
    )
    return look


def _keys_left(pool: Pool) -> list[str]:
    """Keys of runs that stay although every run is archived; waits until the workers had time to forget."""
    end = time.monotonic() + FORGOTTEN_SECONDS
    while True:
        left = sorted(map(str, pool.redis.do(lambda client: list(client.scan_iter("scrimmage:run*")))))
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.5)


def _report(looks: Sequence[Look], left: Sequence[str], restarts: int) -> int:
    third = ROUNDS // 3
    titles = "".join(f"{title:>12}" for title in ("1st third", "2nd third", "3rd third"))
    print(f"{'':<22}{'first':>10}{'last':>10}   slope per run:{titles}")
    flat = True
    for label, field, most in (
        ("workers, KiB", "workers", FLAT_KIB),
        ("Redis, KiB", "redis", FLAT_KIB),
        ("handles of workers", "handles", FLAT_HANDLES),
        ("connections to Redis", "connections", FLAT_HANDLES),
    ):
        slopes = [_slope(looks[at : at + third], field) for at in range(0, ROUNDS, third)]
        flat = flat and slopes[-1] <= most
        first, last = getattr(looks[0], field), getattr(looks[-1], field)
        print(
            f"{label:<22}{first:>10.0f}{last:>10.0f}{'':>17}" + "".join(f"{slope:>12.3f}" for slope in slopes)
        )
    print(f"keys of runs that are left: {len(left)} {' '.join(left[:5])}")
    print(f"workers that ended: {restarts}")
    verdict = flat and not left and not restarts
    print(
        "flat"
        if verdict
        else f"NOT FLAT (most in the last third: {FLAT_KIB:g} KiB, {FLAT_HANDLES:g} handles)"
    )
    return 0 if verdict else 1


def _slope(looks: Sequence[Look], field: str) -> float:
    return statistics.linear_regression(
        [look.runs for look in looks], [getattr(look, field) for look in looks]
    ).slope


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())
