"""Starts the nodes of one machine and keeps them alive: ``python -m workers.supervise --role both``.

A worker process may exit at any time (Celery's do when Redis restarts at the wrong moment), hang, or go
deaf. Each node is a Celery process of its own with the thread pool: solves wait more than they compute, and
several small processes share the cores. ``finish`` and the tasks of a final run have nodes of their own.

Signals: SIGTERM or SIGINT ends warmly (running jobs are finished), a second one or SIGQUIT ends coldly
(running jobs are left to the pool). If the supervisor itself dies, its nodes see their standard input close
and leave. So does a supervisor that a command started for its own pool, since that pool's Redis has gone too.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from shared.errors import ScrimmageError, SettingsError
from shared.pool.jobs import QUEUE_FINAL, QUEUE_FINISH, QUEUE_SOLVE, broker_url
from shared.pool.pool import Pool
from shared.settings import Settings
from workers import logs

FINISH_SLOTS = 8
SILENT_LEASES = 3.0
"""A node that has not been heard for so many lease times (30 s), while Redis answers, is replaced."""

LEAST_SILENCE = 12.0
"""However short leases are: heartbeats come every two seconds, and travel."""

START_SECONDS = 60.0
"""Time for a node's first heartbeat, on top."""

LIFELINE = "SCRIMMAGE_LIFELINE"
"""Set to "stdin" for processes whose standard input closes when whoever started them is gone."""

_LONGEST_PAUSE = 30.0
_STEADY_SECONDS = 60.0
_EXIT_ORPHAN = 72

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class NodePlan:
    """One node to run: what it is called, which queues it consumes, how many jobs at a time."""

    name: str
    queue: str
    slots: int


def plan(role: str, processes: int, threads: int) -> list[NodePlan]:
    """The nodes of a role: ``solve``, ``finish``, ``final`` or ``both`` (all of them)."""
    nodes = [NodePlan(f"solve{number}", QUEUE_SOLVE, threads) for number in range(1, processes + 1)]
    final = NodePlan("final", QUEUE_FINAL, threads)
    finish = NodePlan("finish", QUEUE_FINISH, FINISH_SLOTS)
    return {"solve": nodes, "final": [final], "finish": [finish], "both": [*nodes, final, finish]}[role]


@dataclass
class Child:
    """A node's process, and when to start the next one if it ends."""

    plan: NodePlan
    process: subprocess.Popen[bytes] | None = None
    node: str = ""
    started: float = 0.0
    pause: float = 0.0
    due: float = 0.0
    heard: float = 0.0
    """When it was last known to be alive; a start gets some time in advance."""

    def start(self) -> None:
        """Start the node under a name that was never used before."""
        self.node = f"{self.plan.name}-{uuid.uuid4().hex[:6]}@{socket.gethostname()}"
        command = [
            sys.executable, "-W", "ignore:You're running the worker with superuser",
            "-m", "celery", "--quiet", "--app", "workers.app", "worker",
            "--pool", "threads", "--concurrency", str(self.plan.slots), "--queues", self.plan.queue,
            "--hostname", self.node, "--without-gossip", "--without-mingle", "--loglevel", "INFO",
        ]  # fmt: skip
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command,
            stdin=subprocess.PIPE,
            env={**os.environ, LIFELINE: "stdin"},
            start_new_session=True,  # Ctrl-C goes to the supervisor, which decides
        )
        self.started = time.monotonic()
        self.heard = self.started + START_SECONDS
        log.info(
            "node_started", node=self.node, pid=self.process.pid, queue=self.plan.queue, slots=self.plan.slots
        )

    def signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def ended(self) -> bool:
        return self.process is None or self.process.poll() is not None


class Supervisor:
    """Keeps the nodes of one machine alive.

    Args:
        plans: the nodes.
        settings: of this machine.
        warm_seconds: how long running jobs may take to finish at a warm end.
    """

    def __init__(self, plans: Sequence[NodePlan], settings: Settings, *, warm_seconds: float) -> None:
        self._children = [Child(each) for each in plans]
        self._settings = settings
        self._warm_seconds = warm_seconds
        self._silent_seconds = max(SILENT_LEASES * settings.lease_seconds, LEAST_SILENCE)
        self._asked = 0
        self._wake = threading.Event()
        self._chance = random.Random()  # noqa: S311 - jitter, no secret

    def run(self) -> None:
        """Run until told to end; returns when every node is gone."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask_end)
        signal.signal(signal.SIGQUIT, self._ask_cold_end)
        for child in self._children:
            child.start()
        threading.Thread(target=self._listen, name="listen", daemon=True).start()
        if os.environ.get(LIFELINE) == "stdin":
            threading.Thread(target=self._watch_starter, name="lifeline", daemon=True).start()
        while not self._asked:
            for child in self._children:
                self._tend(child)
            self._wake.wait(0.2)
        self._end()

    def _ask_end(self, *_: object) -> None:
        self._asked += 1
        self._wake.set()

    def _ask_cold_end(self, *_: object) -> None:
        self._asked += 2
        self._wake.set()

    def _watch_starter(self) -> None:
        _wait_for_end_of_input()
        log.warning("starter_gone")
        self._ask_cold_end()

    def _tend(self, child: Child) -> None:
        """Start a node again that has ended: soon, and later and later if it does not last."""
        now = time.monotonic()
        if child.process is not None and child.ended():
            lasted = now - child.started
            child.pause = 0.5 if lasted > _STEADY_SECONDS else min(_LONGEST_PAUSE, max(0.5, child.pause * 2))
            child.due = now + child.pause * self._chance.uniform(0.8, 1.2)
            log.warning(
                "node_ended",
                node=child.node, status=child.process.returncode, lasted=round(lasted, 1), pause=child.pause,
            )  # fmt: skip
            child.process = None
        if child.process is None and now >= child.due:
            child.start()
        elif child.process is not None and now - child.heard > self._silent_seconds:
            log.error("node_silent", node=child.node, seconds=round(now - child.heard, 1))
            child.signal(signal.SIGKILL)

    def _listen(self) -> None:
        """Hear the nodes' heartbeats. While Redis is away nobody can be heard, and nobody is blamed."""
        fleet = Pool.connect(self._settings).fleet
        while True:
            started = time.monotonic()
            try:
                live = {heartbeat.node for heartbeat in fleet.live(within=self._silent_seconds / 3)}
                away = time.monotonic() - started > 5.0
            except ScrimmageError as error:
                log.warning("fleet_unknown", reason=str(error))
                away = True
            now = time.monotonic()
            for child in self._children:
                if child.node in live:
                    child.heard = now
                elif away:
                    child.heard = max(child.heard, now)
            time.sleep(self._silent_seconds / 6)

    def _end(self) -> None:
        """End all nodes: warmly, and by force when asked again or out of time (threads cannot be stopped)."""
        log.info("supervisor_ends", warm=self._asked == 1)
        if self._asked == 1:
            self._signal_all(signal.SIGTERM)
            self._wait_for_all(self._warm_seconds)
        self._signal_all(signal.SIGKILL)
        for child in self._children:
            if child.process is not None:
                child.process.wait()

    def _signal_all(self, number: int) -> None:
        for child in self._children:
            child.signal(number)

    def _wait_for_all(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._asked == 1:
            if all(child.ended() for child in self._children):
                return
            time.sleep(0.05)


def leave_with_supervisor() -> None:
    """In a node: exit when the supervisor is gone, however it went; our standard input closes then."""
    if os.environ.get(LIFELINE) == "stdin":
        threading.Thread(target=_watch_lifeline, name="lifeline", daemon=True).start()


def _wait_for_end_of_input() -> None:
    while os.read(0, 1):
        pass


def _watch_lifeline() -> None:
    _wait_for_end_of_input()
    log.error("supervisor_gone")
    os._exit(_EXIT_ORPHAN)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status: 0 after an orderly end, 2 where a setting is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m workers.supervise", description="Run workers on this machine."
    )
    parser.add_argument("--role", choices=("solve", "finish", "final", "both"), default="both")
    parser.add_argument("--processes", type=int, help="nodes for solving (default: SCRIMMAGE_PROCESSES)")
    parser.add_argument("--threads", type=int, help="solves at a time in each (default: SCRIMMAGE_THREADS)")
    parser.add_argument("--warm", type=float, default=330.0, help="seconds that running jobs get to finish")
    given = parser.parse_args(arguments)
    overrides = {
        name: value for name in ("processes", "threads") if (value := getattr(given, name)) is not None
    }
    try:
        settings = Settings.load(**overrides)
        broker_url(settings)
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a person started this
        return 2
    logs.configure(settings)
    nodes = plan(given.role, settings.processes, settings.threads)
    Supervisor(nodes, settings, warm_seconds=given.warm).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
