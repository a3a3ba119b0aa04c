"""The emulators' time: one object that every part asks, so that a test (or a person) can move it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import formatdate


class Clock:
    """A server's clock.

    Args:
        skew: seconds by which this server's wall clock is ahead of the machine's.
        wall: seconds since the epoch.
        ticks: seconds that never go backwards, for rates and waits.
    """

    def __init__(
        self,
        skew: float = 0.0,
        *,
        wall: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._skew = skew
        self._wall = wall
        self._ticks = ticks
        self._advanced = 0.0

    def now(self) -> float:
        """The wall clock as this server believes it, in seconds since the epoch."""
        return self._wall() + self._skew + self._advanced

    def ticks(self) -> float:
        """Monotonic seconds."""
        return self._ticks() + self._advanced

    def advance(self, seconds: float) -> None:
        """Jump ahead: half an hour of a final run passes at once."""
        if seconds < 0:
            raise ValueError("a clock does not go backwards")
        self._advanced += seconds


def iso(at: float) -> str:
    """Seconds since the epoch as ``2026-11-14T09:30:00.123Z``."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def http_date(at: float) -> str:
    """Seconds since the epoch as HTTP writes them: ``Sat, 14 Nov 2026 09:30:00 GMT``."""
    return formatdate(at, usegmt=True)
