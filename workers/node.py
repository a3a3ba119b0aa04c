"""A node: one Celery worker with its consumer, seen from inside. It beats, tends, and listens.

A consumer can be connected and deaf (celery#8030, #9054): the queue is not empty, slots are free, and nothing
comes. Only the node itself can see that, so it leaves and lets its supervisor start another. It does the same
when it holds more memory than it may: solvers and libraries leak (celery#4843), and to leave warmly loses
nothing.
"""

from __future__ import annotations

import contextlib
import os
import platform
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import structlog
from celery.worker import state as celery_state
from pydantic import SecretStr

from shared.errors import SettingsError, Unavailable
from shared.platforms import registry
from shared.pool.fleet import Heartbeat, Role
from shared.pool.jobs import QUEUE_FINAL, QUEUE_FINISH, QUEUE_SOLVE
from shared.settings import Settings, fingerprint
from workers import worker
from workers.tend import Tender

BEAT_SECONDS = 2.0
ROUND_SECONDS = 0.5
DEAF_LEASES = 1.5
"""So many lease times (15 s) a queue may hold jobs, slots be free and nothing come; then it is deafness."""

LEAST_DEAF_SECONDS = 8.0
"""However short leases are: from far away taking one job lasts a second."""

EXIT_DEAF = 71
EXIT_FULL = 73

VERSION = version("scrimmage")

_ROLES: dict[frozenset[str], Role] = {
    frozenset({QUEUE_SOLVE}): "solve",
    frozenset({QUEUE_FINISH}): "finish",
    frozenset({QUEUE_FINAL}): "final",
}

log = structlog.get_logger(__name__)


@dataclass
class Hearing:
    """Tells a deaf consumer from an idle one, out of what is seen at each look.

    Args:
        seconds: how long nothing must have moved.
        clock: monotonic seconds; tests inject their own.
    """

    seconds: float
    clock: Callable[[], float] = time.monotonic
    _taken: int = -1
    _since: float = field(default=0.0)

    def deaf(self, *, waiting: int, free: int, taken: int) -> bool:
        """Whether the consumer is deaf by now.

        Args:
            waiting: jobs in the queues that it consumes.
            free: slots without a job.
            taken: jobs taken since it started.
        """
        now = self.clock()
        if waiting == 0 or free == 0 or taken != self._taken:
            self._taken, self._since = taken, now
        return now - self._since >= self.seconds


class Node:
    """This process as a node of the pool.

    Args:
        name: Celery's name of it, unique in the pool.
        queues: that it consumes.
        slots: jobs at a time.
        settings: of this machine.
    """

    def __init__(self, name: str, queues: Sequence[str], slots: int, settings: Settings) -> None:
        self.name = name
        self.queues = tuple(queues)
        self.slots = slots
        self.role = _ROLES.get(frozenset(queues), "both")
        self._worker = worker.current()
        self._worker.most_stuck = max(1, slots // 4)
        self._tender = Tender(self._worker.pool, self._worker.name, settings.lease_seconds)
        self._most_memory = settings.node_memory_mb * 2**20
        self._hearing = Hearing(max(DEAF_LEASES * settings.lease_seconds, LEAST_DEAF_SECONDS))
        self._solvers = self._worker.solvers.fingerprints()
        self._keys = _key_fingerprints(settings) | _accounts(self._worker, settings)

    @classmethod
    def of(cls, consumer: Any, settings: Settings) -> Node:
        """The node that a Celery consumer belongs to."""
        queues = [queue.name for queue in consumer.task_consumer.queues]
        return cls(consumer.hostname, queues, int(consumer.pool.num_processes), settings)

    def start(self) -> None:
        """Begin to beat, listen and tend. On two threads: tending may take long, and is no sign of death."""
        for seconds, work in ((BEAT_SECONDS, self._beat), (ROUND_SECONDS, self._tender.round)):
            threading.Thread(target=self._repeat, args=(seconds, work), name="node", daemon=True).start()

    def heartbeat(self) -> Heartbeat:
        """What this node says of itself now."""
        return Heartbeat(
            node=self.name,
            host=platform.node(),
            pid=os.getpid(),
            role=self.role,
            version=VERSION,
            slots=0 if self.role == "finish" or self._worker.leaving else self.slots,
            busy=len(celery_state.active_requests),
            solvers=self._solvers,
            keys=self._keys,
        )

    def _repeat(self, seconds: float, work: Callable[[], object]) -> None:
        while True:
            try:
                work()
            except Unavailable as error:
                log.warning("node_waits", node=self.name, reason=str(error))
            except Exception:  # a defect must not silence the node for good
                log.exception("node_failed", node=self.name)
            time.sleep(seconds)

    def _beat(self) -> None:
        self._worker.pool.fleet.beat(self.heartbeat())
        self._listen()
        self._weigh()

    def _listen(self) -> None:
        taken = sum(celery_state.total_count.values())
        free = self.slots - len(celery_state.reserved_requests)
        waiting = sum(map(self._worker.pool.jobs.waiting, self.queues)) if free > 0 else 0
        if self._hearing.deaf(waiting=waiting, free=free, taken=taken):
            log.error("consumer_deaf", node=self.name, waiting=waiting, free=free)
            self._worker.leave(EXIT_DEAF)

    def _weigh(self) -> None:
        held = own_memory()
        if held > self._most_memory and not self._worker.leaving:
            log.warning("memory_full", node=self.name, mb=held // 2**20, most=self._most_memory // 2**20)
            self._worker.leave(EXIT_FULL)


def own_memory() -> int:
    """Bytes of memory that this process holds and shares with none; 0 where the system does not tell."""
    try:
        resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def _accounts(of: worker.Worker, settings: Settings) -> dict[str, str]:
    """By platform, the account that this machine plays with there; none where its key is not set."""
    found = {}
    for name in registry.platforms(settings):
        with contextlib.suppress(SettingsError):
            found[name] = of.platform(name).account()
    return found


def _key_fingerprints(settings: Settings) -> dict[str, str]:
    """Each key of the settings by what it is for (``arena``, ``model``, …), as its fingerprint."""
    found = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            found[name.removesuffix("_key")] = fingerprint(value.get_secret_value())
    return found
