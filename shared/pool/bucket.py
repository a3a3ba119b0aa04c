"""One token bucket per platform account, shared by every process on every machine.

It is a GCRA used for reservations: one call to Redis books a request and says when it may go; the caller
sleeps once. All times are Redis's, in microseconds. No window of t seconds ever holds more than burst +
rate x t bookings; a small margin below the platform's own limits allows for the network's jitter.

Lanes. FINISH books as far ahead as it takes. TOOLS and FETCH book at most 0.5 s ahead, so a request of a
higher lane never stands behind a heap of theirs; and not at all while callers of a higher lane wait. Where
they may not book they are told when to ask again, each at a time of its own. Beside that, each of the two
may always have a tenth of the rate, so neither starves.

Pauses. A 429 pauses the bucket for everybody and voids what is booked. Sleepers learn of it (``Pauses``)
and book again. After the pause the bucket is empty: requests go out at the plain rate, one after the other.

A bucket that was lost. Its account may have just used its whole burst, so a missing bucket starts empty,
unless there is proof that it was not used. The proof is the key ``born``: the time since when this data set
has seen everything. Who finds it missing writes the present into it (workers do, with their first
heartbeat). If Redis loses its data, ``born`` is lost with it. So a missing bucket has been filling up at
least since ``born``. An embedded server on a new data folder writes 0: the first run of a pool has the
whole burst. What this cannot know is what used the account past this Redis (another pool, curl): there the
platform's 429 and the pause help.

If Redis is away, callers wait for it until their deadline. They never go without a booking.

Warning: a Redis without AOF may come back with an old snapshot, whose bucket is fuller than it should be. A
clock that is set forward has the same effect, once. Both end in a 429 and a pause.
"""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import structlog

from shared.deadline import Deadline
from shared.errors import DeadlinePassed
from shared.models import Limits, RunRef
from shared.pool import keys
from shared.pool.connection import Patient
from shared.pool.pauses import Pauses

_GO, _ASK_AGAIN, _TOO_LATE = 0, 1, 2
_LONGEST_WAIT = 10.0**9
_SHORTEST_PAUSE = 0.25

log = structlog.get_logger(__name__)


class Lane(IntEnum):
    """Which requests come first: the lower, the sooner."""

    FINISH = 0
    TOOLS = 1
    FETCH = 2


@dataclass(frozen=True)
class BucketState:
    """How a bucket stands now.

    ``rate`` (requests per second) and ``burst`` are the bucket's own, margin taken off; ``available``
    requests could go at once; ``paused_for`` seconds nothing goes; ``granted`` requests went in all.
    """

    rate: float
    burst: int
    available: int
    paused_for: float
    granted: int


class Bucket:
    """The bucket of one account. For several threads; usable after a fork.

    Args:
        patient: the pool's Redis.
        name: names the account everywhere ("arena:1f3a…").
        limits: the platform's own.
        margin_tokens: requests of the burst that are left unused.
        margin_rate: part of the rate that is left unused.
    """

    def __init__(
        self,
        patient: Patient,
        name: str,
        limits: Limits,
        *,
        margin_tokens: int,
        margin_rate: float,
    ) -> None:
        self.name = name
        self._margin_tokens = margin_tokens
        self._margin_rate = margin_rate
        self._limits = self._within(limits)
        self._patient = patient
        self._script = patient.script("bucket")
        self._pauses: Pauses | None = None
        self._process = 0
        self._subscribing = threading.Lock()

    def acquire(self, lane: Lane, deadline: Deadline, *, run: RunRef | None = None) -> None:
        """Wait until one request may go.

        Args:
            lane: what the request is for.
            deadline: bounds the wait; a booking that would come later is not made.
            run: whose request it is, counted in the ledger by the same call (if the run is there).

        Raises:
            DeadlinePassed: the request cannot go before the deadline; nothing was consumed.
            Unavailable: Redis was away until the deadline.
        """
        again = False
        count = True
        pauses = self._listening()
        while True:
            mark = pauses.mark()
            most = min(deadline.left(), _LONGEST_WAIT)
            verdict, micros, epoch = self._call(
                ["book", int(lane), int(most * 1e6), int(again), int(count)], deadline=deadline, run=run
            )
            wait = int(micros) / 1e6
            if verdict == _TOO_LATE:
                raise DeadlinePassed(
                    f"no request to {self.name} is free before the deadline: the next is {wait:.1f} s away"
                )
            if wait:
                time.sleep(wait)
            if verdict == _ASK_AGAIN:
                again = True
            elif not wait or pauses.nothing_since(mark) or self._call(["check", epoch], deadline=deadline):
                return
            else:
                count = False  # void, but counted already

    def pause(self, seconds: float) -> bool:
        """Let nothing go for ``seconds``: the platform said 429.

        All callers that met the same 429 may say so: the first one begins the episode, a longer pause
        lengthens it.

        Returns:
            True for the call that began the episode.

        Raises:
            Unavailable: Redis does not answer.
        """
        span = max(seconds, _SHORTEST_PAUSE)
        began = bool(self._call(["pause", math.ceil(span * 1e6), keys.pauses(self.name)]))
        if began:
            log.warning("bucket.paused", bucket=self.name, seconds=round(span, 3))
        return began

    def state(self) -> BucketState:
        """How the bucket stands now. Raises Unavailable."""
        interval, burst, available, paused, granted = (int(word) for word in self._call(["look"]))
        return BucketState(1e6 / interval, burst, available, paused / 1e6, granted)

    def close(self) -> None:
        """End this process's subscription to pauses."""
        if self._pauses is not None and self._process == os.getpid():
            self._pauses.close()

    def _within(self, limits: Limits) -> tuple[int, int]:
        """Interval in microseconds and burst, margin taken off."""
        interval = math.ceil(1e6 / (limits.rate * (1 - self._margin_rate)))
        return interval, max(1, limits.burst - self._margin_tokens)

    def _call(
        self,
        words: list[str | int],
        *,
        deadline: Deadline | None = None,
        run: RunRef | None = None,
    ) -> Any:
        names = [keys.bucket(self.name), keys.BORN] + ([keys.run(run)] if run else [])
        action, *rest = words
        return self._script(names, ["", action, *self._limits, *rest], deadline=deadline)

    def _listening(self) -> Pauses:
        """This process's subscription; one that was made before a fork stays the parent's."""
        with self._subscribing:
            if self._pauses is None or self._process != os.getpid():
                self._pauses = Pauses(self._patient.client, keys.pauses(self.name))
                self._process = os.getpid()
                weakref.finalize(self, self._pauses.close)
            return self._pauses
