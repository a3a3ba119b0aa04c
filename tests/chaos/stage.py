"""The stage of one chaos scenario: Redis, emulators, worker machines, and runs on them.

Everything is real and on this machine: an embedded Redis with a folder of its own, the arena emulator and the
stand-in model in threads of this process, supervised Celery workers as processes. Nothing is left behind.
"""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx
import psutil

from emulators.arena.api import PREFIX
from emulators.arena.app import create_app
from emulators.arena.options import ArenaOptions
from emulators.clock import Clock
from emulators.model import app as model_app
from emulators.model.options import MODEL, ModelOptions
from emulators.server import ThreadedServer
from producer.runs import open_run, settle
from shared.errors import Unclear
from shared.models import Kind, RunRef, RunRequest
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool import keys
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from tests.chaos import inside, solver
from tests.chaos.clock import WallClock
from tests.chaos.network import Address, Cable, Network
from tests.chaos.proxy import Proxy
from tests.chaos.setup import Setup
from tests.chaos.watching import TEAM, Watching
from tests.chaos.world import build_real, build_small
from tests.support.command import Running, Terminal
from tests.support.playing import wait_for
from tests.support.supervised import Supervised, variables_of

_MEMORY_MB = 64


@dataclass(frozen=True)
class Machine:
    """Supervised workers, how they reach the rest, and their wall clock."""

    workers: Supervised
    to_redis: Proxy | Cable | None
    to_platform: Proxy | Cable | None
    clock: WallClock | None

    def node(self, name: str) -> psutil.Process:
        """The process of a node (``solve1``), once it runs."""
        wait_for(lambda: bool(self.workers.children(name)), 30, f"node {name} runs")
        return self.workers.children(name)[0]


class Stage(Watching):
    """See the module.

    Args:
        setup: what there is.
        seed: of everything that is drawn: faults, moments, victims.
        folder: for data, logs and files of faults.
        defect: put into every worker process (`tests.chaos.defects`).
    """

    def __init__(self, setup: Setup, seed: int, folder: Path, defect: str | None = None) -> None:
        super().__init__(random.Random(seed))
        self.setup = setup
        self.seed = seed
        self.folder = folder
        self.machines: list[Machine] = []
        self.commands: list[Running] = []
        self._defect = defect
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
        self.redis = RedisServer.start(self.folder / "redis", maxmemory_mb=_MEMORY_MB)
        self._ends.callback(lambda: self.redis.stop())
        self._ends.callback(self._kill_commands)
        self._start_emulators()
        redis_url, arena_url, model_url = self.redis.url, self._arena_url, self._model_url
        if self.setup.links == "cables":
            near, far = (self._ends.enter_context(Address()).text for _ in range(2))
            redis_url = self._ends.enter_context(Proxy(redis_url, near)).url
            arena_url = self._ends.enter_context(Proxy(arena_url, far)).url
            model_url = self._ends.enter_context(Proxy(model_url, far)).url
            self._addresses = near, far
        self.settings = self._settings(redis_url, arena_url, model_url)
        self.pool = self._ends.enter_context(Pool(self.settings))
        self.platform = ArenaPlatform(self.settings, self.pool)
        self._ends.callback(self.platform.close)
        for _ in range(self.setup.machines):
            self.add_machine()
        for machine in self.machines:
            self.until_live(machine)

    def _start_emulators(self) -> None:
        build = (build_real if self.setup.solver == "agent" else build_small)(self.setup.tasks)
        self.app = create_app(
            ArenaOptions.of(
                {
                    "faults": self._faults("platform", self.setup.rules),
                    "seed": self.seed,
                    "deadline": self.setup.deadline,
                    "choices": {"clock_skew": self.setup.skew},
                }
            ),
            build=build,
        )
        self._arena_url = self._ends.enter_context(ThreadedServer(self.app)).url + PREFIX
        options = ModelOptions.of(
            {"arena_url": self._arena_url, "faults": self._faults("model", self.setup.model_rules)}
        )
        self.model = model_app.ModelApp(options, build, Clock())
        self._model_origin = self._ends.enter_context(ThreadedServer(self.model)).url
        self._model_url = self._model_origin + model_app.PREFIX

    def _faults(self, name: str, rules: Sequence[Any]) -> Path:
        path = self.folder / f"faults-{name}.json"
        path.write_text(json.dumps({"seed": self.seed, "rules": list(rules)}))
        return path

    def _settings(self, redis_url: str, arena_url: str, model_url: str) -> Settings:
        secrets = {key.kind: key.secret for key in self.model.keys.all()}
        return Settings.load(
            _env_file=None,
            redis_url=redis_url,
            arena_url=arena_url,
            arena_key=self.app.arena.teams.get(TEAM).key,
            solvers=solver.SETTING,
            model=MODEL,
            model_url=model_url,
            model_key=secrets["dev"],
            eval_model_key=secrets["final"],
            lease_seconds=self.setup.lease,
            archive=self.folder / "archive",
            data=self.folder / "data",
        )

    # -- machines

    def add_machine(self, **environment: str) -> Machine:
        """Start one more worker machine; ``environment`` replaces what it would get."""
        number = len(self.machines) + 1
        settings = self.settings
        prefix: tuple[str, ...] = ()
        to_redis: Proxy | Cable | None = None
        to_platform: Proxy | Cable | None = None
        if self.setup.links == "proxies":
            to_redis = self._ends.enter_context(Proxy(self.redis.url))
            to_platform = self._ends.enter_context(Proxy(self._arena_url))
            settings = self._settings(to_redis.url, to_platform.url, self._model_url)
        elif self.setup.links == "cables":
            network = self._ends.enter_context(Network())
            to_redis, to_platform = (network.cable(to) for to in self._addresses)
            prefix = network.command
        clock = None
        if self.setup.clocks:
            folder = self.folder / f"clock-{number}"
            folder.mkdir()
            clock = WallClock(folder)
            environment = {**clock.variables, **environment}
        workers = Supervised(
            settings,
            self.folder,
            *("--role", "both", "--processes", str(self.setup.processes)),
            *("--threads", str(self.setup.threads), "--warm", "20"),
            environment={**self._inside(number), "CHAOS_SECONDS": str(self.setup.seconds), **environment},
            prefix=prefix,
        )
        self._ends.callback(workers.stop, signal.SIGQUIT)
        machine = Machine(workers, to_redis, to_platform, clock)
        self.machines.append(machine)
        return machine

    def _inside(self, number: int) -> dict[str, str]:
        """What the workers of a machine find in their environment, where something is to go wrong in them."""
        found = {}
        if self._defect:
            found[inside.DEFECT] = self._defect
        if self.setup.deaths:
            folder = self.folder / f"deaths-{number}"
            folder.mkdir()
            steps = [self.chance.randint(1, inside.STEPS) for _ in range(self.setup.deaths)]
            found[inside.DEATHS] = f"{folder}:{','.join(map(str, steps))}"
        return {"SCRIMMAGE_PLATFORMS": inside.SETTING, **found} if found else {}

    def until_live(self, machine: Machine) -> None:
        """Wait for the heartbeats of a machine's nodes."""
        machine.workers.wait_until_live(self.setup.processes + 2, 60)

    def nodes(self, name: str = "") -> list[psutil.Process]:
        """The processes of all nodes of that name; without one, of all nodes."""
        return [child for machine in self.machines for child in machine.workers.children(name)]

    # -- runs and commands

    def open(self, seed: int | None = None) -> RunRef:
        """Open a run, as often as it takes on a platform with faults."""
        request = RunRequest(
            platform="arena",
            kind=self.setup.kind,
            seed=seed if self.setup.kind is Kind.DEV else None,
            solver=self.setup.solver,
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

    def command(self, *words: str) -> Running:
        """Start a command of `scrimmage`, as a person of this pool types it."""
        running = Terminal(self.folder / "person", **variables_of(self.settings)).start(*words)
        self.commands.append(running)
        return running

    def _kill_commands(self) -> None:
        for command in self.commands:
            command.kill()

    # -- Redis and model

    def kill_redis(self) -> None:
        """kill -9."""
        psutil.Process(self.redis.pid).kill()
        self.redis.stop()

    def restart_redis(self, *, empty: bool = False) -> None:
        """Start it again where it was, on its data or on none."""
        folder = self.folder / (f"redis-{time.monotonic_ns()}" if empty else "redis")
        self.redis = RedisServer.start(folder, port=self.redis.port, maxmemory_mb=_MEMORY_MB)
        if empty:
            self.pool.redis.do(lambda client: client.delete(keys.BORN))  # nobody vouches for what was lost

    def take_model_down(self, seconds: float) -> None:
        """The model answers nobody for so long."""
        url = f"{self._model_origin}{model_app.CONTROL}/conduct"
        httpx.post(url, json={"down": seconds}, trust_env=False).raise_for_status()


def kill(processes: Sequence[psutil.Process]) -> None:
    """kill -9, whoever still lives."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
