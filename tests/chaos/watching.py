"""Looking at a scenario while it is played: ledger, books, what is awaited and measured."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil

from emulators.arena.app import ArenaApp
from emulators.arena.runs import Run as PlatformRun
from emulators.model.app import ModelApp
from shared.models import RunRef, TaskStatus
from shared.pool import keys
from shared.pool.ledger import RunState
from shared.pool.pool import Pool
from tests.chaos.setup import Setup
from tests.support.playing import wait_for

TEAM = "team-1"


class Watching:
    """What can be seen and awaited.

    Args:
        chance: draws moments and victims.

    Attributes:
        opened: the scenario's runs.
        measured: by name, the seconds that something took, and the bound on them.
        told: what a person should know who looks at the result.
        billed_before: micro-dollars that were billed for no run: preflight asks the model too.
    """

    setup: Setup
    pool: Pool
    app: ArenaApp
    model: ModelApp

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.opened: list[RunRef] = []
        self.measured: dict[str, tuple[float, float]] = {}
        self.told: list[str] = []
        self.billed_before = 0

    # -- the ledger

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

    def tender(self) -> psutil.Process | None:
        """The node that tends now, if it lives."""
        owner = str(self.pool.redis.do(lambda client: client.hget(keys.TENDING, "owner")) or "")
        with suppress(psutil.NoSuchProcess, ValueError):
            return psutil.Process(int(owner.rpartition("-")[2]))
        return None

    def until_leased(self, ref: RunRef, tasks: int, seconds: float = 30.0) -> None:
        """Wait until so many tasks of a run are being solved."""
        wait_for(lambda: self.count(ref, TaskStatus.LEASED) >= tasks, seconds, f"{tasks} tasks are leased")

    def until_known(self, seconds: float = 60.0) -> RunRef:
        """Wait until the ledger holds a run that somebody else opened."""
        wait_for(lambda: bool(self.pool.ledger.refs()), seconds, "a run is in the ledger")
        (ref,) = self.pool.ledger.refs()
        if ref not in self.opened:
            self.opened.append(ref)
        return ref

    def until_ended(self, seconds: float) -> bool:
        """Wait for the end of every run; False where one does not end in time."""
        with suppress(AssertionError):
            wait_for(lambda: all(self.state(ref).status.final for ref in self.opened), seconds, "runs end")
            return True
        return False

    # -- platform and model

    def shown(self, ref: RunRef) -> PlatformRun:
        """The run as the platform has it."""
        run = self.app.arena.runs.find(ref.run_id)
        assert run is not None
        return run

    def books(self) -> dict[str, Any]:
        """What the team's key did on the platform."""
        page: dict[str, Any] = self.app.arena.report()["accounts"].get(TEAM, {})
        return page

    def until_fault(self, number: int = 1, seconds: float = 60.0) -> None:
        """Wait until the platform's faults have struck so many times."""
        wait_for(
            lambda: sum(self.books().get("faults", {}).values()) >= number, seconds, f"fault {number} strikes"
        )

    def billed(self) -> int:
        """Micro-dollars that the model's endpoint has billed for all runs."""
        return sum(key.micro_usd for key in self.model.keys.all()) - self.billed_before

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
