"""Which Celery pool, how many processes: solves that wait, on real workers, a real Redis, the toy platform.

    python -m benchmarks.pools [--tasks 192] [--seconds 2]

Each row plays one run of tasks that only wait, as a solver waits for a model. The limit stands beside each
figure: with 64 slots, 192 tasks of 2 s cannot take less than 6 s. Memory is what the processes hold for
themselves (USS) once the run is over, finish node included. Starting is not in the time of the run: every
worker has beaten before the run is opened.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.command import arguments
from shared.models import TaskStatus
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from tests.support.playing import open_toy, state_of, toy_settings, wait_for, wait_for_end
from tests.support.supervised import ROOT, clean_environment, toy_variables


@dataclass(frozen=True)
class Shape:
    """So many worker processes, each with a pool of so many slots."""

    pool: str
    processes: int
    slots: int

    @property
    def in_flight(self) -> int:
        return self.processes * self.slots


SHAPES = (
    Shape("threads", 1, 64),
    Shape("threads", 2, 32),
    Shape("threads", 4, 16),
    Shape("prefork", 1, 16),
    Shape("prefork", 1, 64),
)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tasks", type=int, default=192)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    print(f"{given.tasks} tasks that wait {given.seconds:g} s, {os.cpu_count()} cores")
    print(
        f"{'pool':<9}{'shape':>8}{'start s':>9}{'run s':>8}{'limit s':>9}{'most in flight':>16}{'USS MB':>8}"
    )
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            started, took, most, memory = measure(shape, given.tasks, given.seconds, Path(folder))
        limit = math.ceil(given.tasks / shape.in_flight) * given.seconds
        size = f"{shape.processes}x{shape.slots}"
        print(f"{shape.pool:<9}{size:>8}{started:>9.1f}{took:>8.1f}{limit:>9.1f}{most:>16}{memory:>8.0f}")


def measure(shape: Shape, tasks: int, seconds: float, folder: Path) -> tuple[float, float, int, float]:
    """Play one run. Returns seconds until all workers beat, seconds of the run, most in flight, MB."""
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer.start(folder / "redis", maxmemory_mb=128))
        pool = stack.enter_context(Pool(toy_settings(server.url)))
        began = time.monotonic()
        workers = [
            start(stack, server.url, folder, seconds, "scrimmage.solve", shape.pool, shape.slots)
            for _ in range(shape.processes)
        ]
        workers.append(start(stack, server.url, folder, seconds, "scrimmage.finish", "threads", 4))
        wait_for(lambda: len(pool.fleet.live()) == len(workers), 60, "every worker beats")
        started = time.monotonic() - began

        began = time.monotonic()
        run = open_toy(pool, "slow", options={"tasks": tasks}, budget_seconds=300)
        most, ended = 0, threading.Event()

        def look() -> None:
            nonlocal most
            while not ended.wait(0.1):
                most = max(most, state_of(pool, run).counts.get(TaskStatus.LEASED, 0))

        looking = threading.Thread(target=look)
        looking.start()
        wait_for_end(pool, run, 300)
        took = time.monotonic() - began
        ended.set()
        looking.join()
        memory = sum(map(held, workers)) / 2**20
        return started, took, most, memory


def start(
    stack: ExitStack, redis_url: str, folder: Path, seconds: float, queue: str, pool: str, slots: int
) -> subprocess.Popen[bytes]:
    """Start one Celery worker, which ends with the stack."""
    name = f"{pool}-{os.urandom(3).hex()}"
    log = stack.enter_context((folder / f"{name}.log").open("wb"))
    worker = subprocess.Popen(
        [
            *(sys.executable, "-m", "celery", "--quiet", "-A", "workers.app", "worker"),
            *("-P", pool, "-c", str(slots), "-Q", queue, "-n", f"{name}@%h"),
            *("--without-gossip", "--without-mingle"),
        ],
        cwd=ROOT,
        env={
            **clean_environment(),
            **toy_variables(),
            "SCRIMMAGE_REDIS_URL": redis_url,
            "TOY_SECONDS": str(seconds),
        },
        stdout=log,
        stderr=log,
    )
    stack.callback(worker.wait)
    stack.callback(worker.terminate)
    return worker


def held(worker: subprocess.Popen[bytes]) -> int:
    """Bytes that a worker and its children hold for themselves alone."""
    parent = psutil.Process(worker.pid)
    return sum(process.memory_full_info().uss for process in (parent, *parent.children(recursive=True)))


if __name__ == "__main__":
    main()
