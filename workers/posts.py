"""Which nodes a machine runs, and each of their processes, seen by its supervisor."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from shared.pool.jobs import QUEUE_FINAL, QUEUE_FINISH, QUEUE_SOLVE
from workers import lifeline

FINISH_SLOTS = 8
START_SECONDS = 60.0
"""Time for a node's first heartbeat, on top of what any other may take."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class NodePlan:
    """One node to run: what it is called, which queues it consumes, how many jobs at a time."""

    name: str
    queue: str
    slots: int


def plan(roles: Iterable[str], processes: int, threads: int) -> list[NodePlan]:
    """The nodes of some roles: ``solve``, ``final``, ``finish``, and ``both`` for all of them."""
    asked = set(roles)
    every = [NodePlan(f"solve{number}", QUEUE_SOLVE, threads) for number in range(1, processes + 1)]
    every += [NodePlan("final", QUEUE_FINAL, threads), NodePlan("finish", QUEUE_FINISH, FINISH_SLOTS)]
    return [node for node in every if "both" in asked or node.name.rstrip("0123456789") in asked]


class Child:
    """A node's process, from its start to its end."""

    def __init__(self, plan: NodePlan) -> None:
        self.node = f"{plan.name}-{uuid.uuid4().hex[:6]}@{socket.gethostname()}"
        """A name that was never used before."""
        self.leaving = False
        command = [
            *(sys.executable, "-W", "ignore:You're running the worker with superuser"),
            *("-m", "workers.process", self.node, plan.queue, str(plan.slots)),
        ]
        self._line, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as failed:
            failed.callback(self._line.close)
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                command,
                stdin=theirs.fileno(),
                env={**os.environ, lifeline.LIFELINE: "stdin"},
                start_new_session=True,  # Ctrl-C goes to the supervisor, which decides
            )
            failed.pop_all()
        self.started = time.monotonic()
        self.heard = self.started + START_SECONDS
        """When it was last known to be alive; a start gets some time in advance."""
        log.info("node_started", node=self.node, pid=self.process.pid, queue=plan.queue, slots=plan.slots)

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def lasted(self) -> float:
        return time.monotonic() - self.started

    def leaves(self) -> bool:
        """Whether it has said that it takes no more jobs."""
        self.leaving = self.leaving or lifeline.heard_leaving(self._line)
        return self.leaving

    def signal(self, number: int) -> None:
        if not self.ended:
            self.process.send_signal(number)

    def bury(self) -> None:
        """Wait for its end, and let go of it."""
        self.process.wait()
        self._line.close()


@dataclass
class Post:
    """A place in the plan: the node that has it, or when the next one is due."""

    plan: NodePlan
    child: Child | None = None
    pause: float = 0.0
    due: float = 0.0
