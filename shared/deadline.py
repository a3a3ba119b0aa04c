"""A deadline: how long a wait may still take. Every wait in Scrimmage is bounded by one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from shared.errors import DeadlinePassed


@dataclass(frozen=True)
class Deadline:
    """A moment on a monotonic clock.

    Args:
        at: the moment, in seconds of ``clock``.
        clock: returns the present in seconds; tests inject their own.
    """

    at: float
    clock: Callable[[], float] = field(default=time.monotonic, repr=False, compare=False)

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """The deadline that comes in ``seconds`` from now."""
        return cls(clock() + seconds, clock)

    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - self.clock())

    @property
    def passed(self) -> bool:
        return self.left() <= 0.0

    def sooner(self, seconds: float) -> Deadline:
        """The earlier of this deadline and ``seconds`` from now."""
        return Deadline(min(self.at, self.clock() + seconds), self.clock)

    def check(self, doing: str) -> None:
        """Raise DeadlinePassed if no time is left.

        Args:
            doing: what was to be done, for the message ("submitting t03").
        """
        if self.passed:
            raise DeadlinePassed(f"no time left for {doing}")
