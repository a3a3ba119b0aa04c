"""The stage of one chaos scenario: Redis, emulator, model, worker machines, and runs on them.

Everything is real and on this machine: an embedded Redis with a folder of its own, the arena emulator and the
model in threads of this process, supervised Celery workers as processes. Nothing is left behind.
"""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from emulators.arena.api import PREFIX
from emulators.arena.app import create_app
from emulators.arena.options import ArenaOptions
from emulators.arena.runs import Run as PlatformRun
from emulators.server import ThreadedServer
from producer.runs import open_run, settle
from shared.errors import Unclear
from shared.models import Kind, RunRef, RunRequest, TaskStatus
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool import keys
from shared.pool.ledger import RunState
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from tests.chaos import solver
from tests.chaos.meter import Meter
from tests.chaos.proxy import Proxy
from tests.chaos.world import build_small
from tests.support.command import Terminal
from tests.support.played_arena import Rule
from tests.support.playing import wait_for
from tests.support.supervised import Supervised, variables_of


@dataclass(frozen=True)
class Setup:
    """What a scenario starts with.

    Args:
        tasks: of each run.
        kind: of its runs.
        seconds: that each solve takes.
        lease: seconds of a lease; the pool's default is 10.
        machines: worker machines, each with a node to finish and one for a final run.
        processes: nodes to solve, on each of them.
        threads: solves at a time on each such node.
        cuttable: every machine reaches Redis and platform through proxies of its own.
        rules: faults of the platform.
        deadline: seconds of a final run.
        skew: seconds by which the platform's clock is ahead.
        spare: tasks that may end without a submission.
    """

    tasks: int = 12
    kind: Kind = Kind.DEV
    seconds: float = 0.5
    lease: float = 2.0
    machines: int = 1
    processes: int = 1
    threads: int = 4
    cuttable: bool = False
    rules: tuple[Rule, ...] = ()
    deadline: float = 60.0
    skew: float = 0.0
    spare: int = 0


@dataclass(frozen=True)
class Machine:
    """Supervised workers, and how they reach the rest."""

    workers: Supervised
    to_redis: Proxy | None
    to_platform: Proxy | None

    def node(self, name: str) -> psutil.Process:
        """The process of a node (``solve1``), once it runs."""
        wait_for(lambda: bool(self.workers.children(name)), 30, f"node {name} runs")
        return self.workers.children(name)[0]


class Stage:
    """See the module.

    Args:
        setup: what there is.
        seed: of everything that is drawn: faults, moments, victims.
        folder: for data, logs and the file of faults.
    """

    def __init__(self, setup: Setup, seed: int, folder: Path) -> None:
        self.setup = setup
        self.seed = seed
        self.folder = folder
        self.chance = random.Random(seed)
        self.machines: list[Machine] = []
        self.opened: list[RunRef] = []
        self.measured: dict[str, tuple[float, float]] = {}
        """By name: seconds that something took, and the bound on them."""
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._ends.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def _start(self) -> None:
        self.redis = RedisServer.start(self.folder / "redis", maxmemory_mb=64)
        self._ends.callback(lambda: self.redis.stop())
        faults = self.folder / "faults.json"
        faults.write_text(json.dumps({"seed": self.seed, "rules": self.setup.rules}))
        options = ArenaOptions.of(
            {
                "faults": faults,
                "seed": self.seed,
                "deadline": self.setup.deadline,
                "choices": {"clock_skew": self.setup.skew},
            }
        )
        self.app = create_app(options, build=build_small(self.setup.tasks))
        self.arena_url = self._ends.enter_context(ThreadedServer(self.app)).url + PREFIX
        self.meter = self._ends.enter_context(Meter())
        self.settings = self._settings(self.redis.url, self.arena_url)
        self.pool = self._ends.enter_context(Pool(self.settings))
        self.platform = ArenaPlatform(self.settings, self.pool)
        self._ends.callback(self.platform.close)
        for _ in range(self.setup.machines):
            self.add_machine()
        for machine in self.machines:
            self.until_live(machine)

    def _settings(self, redis_url: str, arena_url: str) -> Settings:
        return Settings.load(
            _env_file=None,
            redis_url=redis_url,
            arena_url=arena_url,
            arena_key=self.app.arena.teams.get("team-1").key,
            solvers=solver.SETTING,
            model="stand-in",
            model_url=self.meter.url,
            model_key="model-key-of-chaos",
            eval_model_key="eval-key-of-chaos",
            model_price="1/2",
            lease_seconds=self.setup.lease,
            archive=self.folder / "archive",
            data=self.folder / "data",
        )

    # -- machines

    def add_machine(self, **environment: str) -> Machine:
        """Start one more worker machine; ``environment`` replaces what it would get."""
        to_redis = to_platform = None
        settings = self.settings
        if self.setup.cuttable:
            to_redis = self._ends.enter_context(Proxy(self.redis.url))
            to_platform = self._ends.enter_context(Proxy(self.arena_url))
            settings = self._settings(to_redis.url, to_platform.url)
        workers = Supervised(
            settings,
            self.folder,
            *("--role", "both", "--processes", str(self.setup.processes)),
            *("--threads", str(self.setup.threads), "--warm", "20"),
            environment={"CHAOS_SECONDS": str(self.setup.seconds), **environment},
        )
        self._ends.callback(workers.stop, signal.SIGQUIT)
        machine = Machine(workers, to_redis, to_platform)
        self.machines.append(machine)
        return machine

    def until_live(self, machine: Machine) -> None:
        """Wait for the heartbeats of a machine's nodes."""
        machine.workers.wait_until_live(self.setup.processes + 2, 60)

    def nodes(self, name: str) -> list[psutil.Process]:
        """The processes of all nodes of that name."""
        return [child for machine in self.machines for child in machine.workers.children(name)]

    def tender(self) -> psutil.Process | None:
        """The node that tends now, if it lives."""
        owner = str(self.pool.redis.do(lambda client: client.hget(keys.TENDING, "owner")) or "")
        with suppress(psutil.NoSuchProcess, ValueError):
            return psutil.Process(int(owner.rpartition("-")[2]))
        return None

    # -- runs

    def open(self, seed: int | None = None) -> RunRef:
        """Open a run, as often as it takes on a platform with faults."""
        request = RunRequest(
            platform="arena",
            kind=self.setup.kind,
            seed=seed if self.setup.kind is Kind.DEV else None,
            solver="steady",
            budget_seconds=300,
            task_seconds=60,
        )
        try:
            ref = open_run(self.pool, self.platform, request)
        except Unclear:
            (opening,) = self.pool.ledger.openings()
            ref = settle(self.pool, self.platform, opening)
        self.opened.append(ref)
        return ref

    def state(self, ref: RunRef) -> RunState:
        state = self.pool.ledger.run(ref)
        assert state is not None, f"{ref} is not in the ledger"
        return state

    def count(self, ref: RunRef, *statuses: TaskStatus) -> int:
        counts = self.state(ref).counts
        return sum(counts.get(status, 0) for status in statuses)

    def happened(self, ref: RunRef, name: str) -> Counter[str]:
        """How often something happened to each task."""
        events = self.pool.ledger.events(ref)
        return Counter(event.task_id or "" for event in events if event.name == name)

    def leases(self) -> int:
        """Leases of all runs so far."""
        return sum(self.happened(ref, "leased").total() for ref in self.opened)

    def leased_by(self, ref: RunRef, process: psutil.Process) -> list[str]:
        """Tasks that a node holds now."""
        return [
            task.task_id
            for task in self.pool.ledger.tasks(ref)
            if task.status is TaskStatus.LEASED and f"-{process.pid}-" in f"{task.owner}"
        ]

    def until_leased(self, ref: RunRef, tasks: int, seconds: float = 30.0) -> None:
        """Wait until so many tasks of a run are being solved."""
        wait_for(lambda: self.count(ref, TaskStatus.LEASED) >= tasks, seconds, f"{tasks} tasks are leased")

    def until_ended(self, seconds: float) -> bool:
        """Wait for the end of every run; False where one does not end in time."""
        with suppress(AssertionError):
            wait_for(lambda: all(self.state(ref).status.final for ref in self.opened), seconds, "runs end")
            return True
        return False

    def shown(self, ref: RunRef) -> PlatformRun:
        """The run as the platform has it."""
        run = self.app.arena.runs.find(ref.run_id)
        assert run is not None
        return run

    def books(self) -> dict[str, Any]:
        """What the team's key did on the platform."""
        page: dict[str, Any] = self.app.arena.report()["accounts"].get("team-1", {})
        return page

    def until_fault(self, number: int = 1, seconds: float = 60.0) -> None:
        """Wait until the platform's faults have struck so many times."""
        wait_for(
            lambda: sum(self.books().get("faults", {}).values()) >= number, seconds, f"fault {number} strikes"
        )

    # -- commands

    @property
    def terminal(self) -> Terminal:
        """Where a person types commands for this pool."""
        return Terminal(self.folder / "person", **variables_of(self.settings))

    def until_known(self, seconds: float = 60.0) -> RunRef:
        """Wait until the ledger holds a run that somebody else opened."""
        wait_for(lambda: bool(self.pool.ledger.refs()), seconds, "a run is in the ledger")
        (ref,) = self.pool.ledger.refs()
        if ref not in self.opened:
            self.opened.append(ref)
        return ref

    # -- time

    def pause(self, shortest: float, longest: float) -> float:
        """Let time pass, as much as the seed says."""
        seconds = self.chance.uniform(shortest, longest)
        time.sleep(seconds)
        return seconds

    def measure(self, name: str, bound: float, done: Callable[[], bool], since: float) -> None:
        """Note how long after ``since`` (monotonic) something is done; give up long after the bound."""
        with suppress(AssertionError):
            wait_for(done, 3 * bound, name)
        self.measured[name] = time.monotonic() - since, bound

    # -- Redis

    def kill_redis(self) -> None:
        """kill -9."""
        psutil.Process(self.redis.pid).kill()
        self.redis.stop()

    def restart_redis(self, *, empty: bool = False) -> None:
        """Start it again where it was, on its data or on none."""
        if empty:
            folder = self.folder / f"redis-{time.monotonic_ns()}"
            self.redis = RedisServer.start(folder, port=self.redis.port, maxmemory_mb=64)
            self.pool.redis.do(lambda client: client.delete(keys.BORN))  # nobody vouches for what was lost
        else:
            self.redis = RedisServer.start(self.folder / "redis", port=self.redis.port, maxmemory_mb=64)


def kill(processes: Sequence[psutil.Process]) -> None:
    """kill -9, whoever still lives."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
