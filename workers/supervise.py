"""Starts the nodes of one machine and keeps them alive: ``python -m workers.supervise --role both``.

A worker process may exit at any time (Celery's do when Redis restarts at the wrong moment), hang, or go
deaf. Each node is a Celery process of its own with the thread pool: solves wait more than they compute, and
several small processes share the cores. ``finish`` and the tasks of a final run have nodes of their own.

A node that has ended is replaced, and what its process held in the pool is free at once: the supervisor knows
that it is dead, and nobody has to wait for a lease. One that says it leaves (``lifeline``) is replaced while
it still finishes its jobs.

Signals: SIGTERM or SIGINT ends warmly (running jobs are finished), a second one or SIGQUIT ends coldly
(running jobs are left to the pool). Either way nobody counts on the nodes from then on. If the supervisor
itself dies, its nodes see their standard input close and leave. So does a supervisor that a command started
for its own pool, since that pool's Redis has gone too.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
import time
from collections.abc import Sequence

import structlog

from shared.deadline import Deadline
from shared.errors import ScrimmageError, SettingsError
from shared.pool.fleet import worker_name
from shared.pool.jobs import broker_url
from shared.pool.pool import Pool
from shared.settings import Settings
from workers import lifeline, logs
from workers.posts import Child, NodePlan, Post, plan

SILENT_LEASES = 3.0
"""A node that has not been heard for so many lease times (30 s), while Redis answers, is replaced."""

LEAST_SILENCE = 12.0
"""However short leases are: heartbeats come every two seconds, and travel."""

STEADY_SECONDS = 10.0
"""A node that lasted so long is started again at once; one that did not, after a pause that grows."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0

FAREWELL_SECONDS = 2.0
"""Longest wait, at the very end, for a Redis that may be gone too."""

log = structlog.get_logger(__name__)


class Supervisor:
    """Keeps the nodes of one machine alive.

    Args:
        plans: the nodes.
        settings: of this machine.
        warm_seconds: how long running jobs may take to finish at a warm end.
    """

    def __init__(self, plans: Sequence[NodePlan], settings: Settings, *, warm_seconds: float) -> None:
        self._posts = [Post(each) for each in plans]
        self._leavers: list[Child] = []
        self._settings = settings
        self._warm_seconds = warm_seconds
        self._silent_seconds = max(SILENT_LEASES * settings.lease_seconds, LEAST_SILENCE)
        self._asked = 0
        self._wake = threading.Event()
        self._pool = Pool.connect(settings)
        self._chance = random.Random()  # noqa: S311 - jitter, no secret

    def run(self) -> None:
        """Run until told to end; returns when every node is gone."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask_end)
        signal.signal(signal.SIGQUIT, self._ask_cold_end)
        threading.Thread(target=self._listen, name="listen", daemon=True).start()
        if lifeline.held():
            threading.Thread(target=self._watch_starter, name="lifeline", daemon=True).start()
        while not self._asked:
            for post in self._posts:
                self._tend(post)
            for child in self._leavers.copy():
                if child.ended:
                    self._leavers.remove(child)
                    self._bury(child)
            for child in self._children():
                self._check_heard(child)
            self._wake.wait(0.2)
        self._end()

    def _ask_end(self, *_: object) -> None:
        self._asked += 1
        self._wake.set()

    def _ask_cold_end(self, *_: object) -> None:
        self._asked += 2
        self._wake.set()

    def _watch_starter(self) -> None:
        lifeline.wait_for_end()
        log.warning("starter_gone")
        self._ask_cold_end()

    def _tend(self, post: Post) -> None:
        """Give a post a new node where the old one has ended or leaves.

        At once where that one was steady, else after a pause that grows from start to start.
        """
        child = post.child
        if child is not None and (child.ended or child.leaves()):
            steady = child.lasted > STEADY_SECONDS
            post.child = None
            post.pause = 0.0 if steady else min(LONGEST_PAUSE, max(FIRST_PAUSE, post.pause * 2))
            post.due = time.monotonic() + post.pause * self._chance.uniform(0.8, 1.2)
            log.warning("node_replaced", node=child.node, leaving=child.leaving, pause=post.pause)
            self._leavers.append(child)
        if post.child is None and time.monotonic() >= post.due:
            try:
                post.child = Child(post.plan)
            except OSError as error:  # no memory, no handles: they may come back
                log.error("node_not_started", post=post.plan.name, reason=str(error))
                post.due = time.monotonic() + LONGEST_PAUSE

    def _check_heard(self, child: Child) -> None:
        silent = time.monotonic() - child.heard
        if silent > self._silent_seconds:
            log.error("node_silent", node=child.node, seconds=round(silent, 1))
            child.signal(signal.SIGKILL)

    def _bury(self, child: Child) -> None:
        child.bury()
        log.warning(
            "node_ended", node=child.node, status=child.process.returncode, lasted=round(child.lasted, 1)
        )
        threading.Thread(target=self._free, args=(child,), name="free", daemon=True).start()

    def _free(self, dead: Child) -> None:
        """Free at once what a dead node held; where Redis is away for long, its leases run out instead."""
        try:
            self._pool.fleet.forget(dead.node)
            self._pool.ledger.free(worker_name(dead.node, dead.process.pid))
        except ScrimmageError as error:
            log.warning("node_not_freed", node=dead.node, reason=str(error))

    def _listen(self) -> None:
        """Hear the nodes' heartbeats. While Redis is away nobody can be heard, and nobody is blamed."""
        pause = self._silent_seconds / 6
        while True:
            away, live = False, set()
            try:
                beats = self._pool.fleet.live(2 * pause, deadline=Deadline.after(pause))
                live = {heartbeat.node for heartbeat in beats}
            except Exception as error:  # noqa: BLE001 - whoever cannot hear must not call others silent
                log.warning("fleet_unknown", reason=f"{type(error).__name__}: {error}")
                away = True
            now = time.monotonic()
            for child in self._children():
                if child.node in live:
                    child.heard = now
                elif away:
                    child.heard = max(child.heard, now)
            time.sleep(pause)

    def _children(self) -> list[Child]:
        return [child for post in self._posts if (child := post.child)] + self._leavers

    def _end(self) -> None:
        """End all nodes: warmly, and by force when asked again or out of time (threads cannot be stopped)."""
        log.info("supervisor_ends", warm=self._asked == 1)
        children = self._children()
        if self._asked == 1:
            for child in children:
                if not child.leaving:  # a second one would end it coldly
                    child.signal(signal.SIGTERM)
            self._wait_for_all(children)
        for child in children:
            child.signal(signal.SIGKILL)
            child.bury()
        freeing = threading.Thread(target=lambda: [*map(self._free, children)], name="free", daemon=True)
        freeing.start()
        freeing.join(FAREWELL_SECONDS)

    def _wait_for_all(self, children: Sequence[Child]) -> None:
        end = time.monotonic() + self._warm_seconds
        while time.monotonic() < end and self._asked == 1 and not all(child.ended for child in children):
            time.sleep(0.05)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit status: 0 after an orderly end, 2 where a setting is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m workers.supervise", description="Run workers on this machine."
    )
    parser.add_argument("--role", choices=("solve", "finish", "final", "both"), nargs="+", default=["both"])
    parser.add_argument("--processes", type=int, help="nodes for solving (default: SCRIMMAGE_PROCESSES)")
    parser.add_argument("--threads", type=int, help="solves at a time in each (default: SCRIMMAGE_THREADS)")
    parser.add_argument(
        "--warm", type=float, default=lifeline.WARM_SECONDS, help="seconds that running jobs get to finish"
    )
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
