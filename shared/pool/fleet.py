"""The fleet: which workers live, and what each can do.

Every worker process tells its heartbeat every few seconds. The producer reads them before it starts a run (is
there a worker that has this solver and this key?), `doctor` shows them, ``dispatch`` counts their slots.
"""

from __future__ import annotations

from typing import Literal

import structlog
from pydantic import Field, ValidationError

from shared.deadline import Deadline
from shared.models import Frozen
from shared.pool import keys
from shared.pool.connection import Patient

Role = Literal["solve", "finish", "both", "final"]

log = structlog.get_logger(__name__)


class Heartbeat(Frozen):
    """What one worker process says of itself. No secrets: keys are fingerprints."""

    node: str = Field(min_length=1, max_length=200)
    """Its name, unique in the pool."""
    host: str
    pid: int
    role: Role
    version: str
    """Scrimmage's version there."""
    slots: int = Field(ge=0)
    """Solves that it can work on at a time."""
    busy: int = Field(0, ge=0)
    """Solves that it works on now."""
    solvers: dict[str, str] = Field(default_factory=dict)
    """Registered name → fingerprint of the solver's code."""
    keys: dict[str, str] = Field(default_factory=dict)
    """``arena``, ``model``, ``eval_model`` … → fingerprint of the key it has."""
    at: float = 0.0
    """Seconds on Redis's clock; filled in when it arrives."""

    @property
    def solves(self) -> bool:
        """True where it takes tasks of ordinary runs."""
        return self.role in {"solve", "both"}


class Fleet:
    """Heartbeats in Redis, by node. Times are Redis's, so machines' clocks do not matter."""

    def __init__(self, patient: Patient) -> None:
        self._patient = patient
        self._run = patient.script("fleet")

    def beat(self, heartbeat: Heartbeat) -> None:
        """Store a heartbeat in place of the node's last one."""
        self._run([keys.WORKERS, keys.BORN], ["beat", heartbeat.node, heartbeat.model_dump_json()])

    def live(self, within: float = 15.0, *, deadline: Deadline | None = None) -> list[Heartbeat]:
        """Workers that were heard in the last ``within`` seconds, by node.

        A heartbeat that this version cannot read (another version's worker) is left out and logged.
        """
        found = []
        told: list[str] = self._run([keys.WORKERS], ["live", int(within * 1e6)], deadline=deadline)
        for at, text in zip(told[::2], told[1::2], strict=True):
            try:
                heartbeat = Heartbeat.model_validate_json(text)
            except ValidationError as error:
                log.warning("fleet.unreadable_heartbeat", problems=error.error_count())
                continue
            found.append(heartbeat.model_copy(update={"at": int(at) / 1e6}))
        return sorted(found, key=lambda heartbeat: heartbeat.node)

    def forget(self, node: str) -> None:
        """A worker has ended: it counts no more."""
        self._patient.do(lambda client: client.hdel(keys.WORKERS, node))

    def sweep(self, silent: float = 60.0) -> int:
        """Forget workers that were silent for ``silent`` seconds; returns how many."""
        return int(self._run([keys.WORKERS], ["sweep", int(silent * 1e6)]))


def worker_name(node: str, pid: int) -> str:
    """What a worker process is called in the pool. The owners of its leases begin with it."""
    return f"{node}-{pid}"
