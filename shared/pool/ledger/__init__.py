"""The ledger: the live state of all runs in Redis, and the only truth about them.

One state machine (``docs/ledger.md`` has its tables). Each transition is one Lua script of this folder,
atomic and safe to repeat: a caller that lost the answer calls again and gets the same one. Times are
microseconds of Redis's ``TIME``, read inside the scripts; no key has a TTL. What a script does to a run it
also narrates in the run's event stream.
"""

from __future__ import annotations

from shared.pool.ledger.drain import Drain
from shared.pool.ledger.openings import Openings
from shared.pool.ledger.reading import Reading
from shared.pool.ledger.states import (
    Event,
    Fault,
    Lease,
    Opening,
    Rejection,
    Report,
    RunLease,
    RunState,
    TaskState,
)
from shared.pool.ledger.tasks import Tasks
from shared.pool.ledger.tending import Tending

__all__ = [
    "Event",
    "Fault",
    "Lease",
    "Ledger",
    "Opening",
    "Rejection",
    "Report",
    "RunLease",
    "RunState",
    "TaskState",
]


class Ledger(Openings, Tasks, Drain, Tending, Reading):
    """All transitions and views, sorted into classes by who calls them."""
