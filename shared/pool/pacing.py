"""How many model calls one key may have open at a time, found out by trying, for every process together.

A model's endpoint names no limit: it says 429 when it has had enough, or slows down. So the number of calls
at a time grows by one for each round of calls that went well while all slots were in use, and is halved
when the endpoint says that it is overloaded. All calls that were under way at that moment belong to one
episode: they cut once. Nothing begins until the pause that the endpoint asked for is over; who waits wakes
at a time of its own.

Slots go in the order of arrival. Each is leased by timestamp and renewed while its call lasts: the slots of
a worker that died come back after ``LEASE`` seconds, and who stops asking loses its place.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import structlog

from shared.deadline import Deadline
from shared.errors import Unavailable
from shared.pool import keys
from shared.pool.connection import Patient

LEASE = 10.0
"""Seconds that a slot stays taken after the last sign of its worker."""

PAUSE = 1.0
"""Seconds without a new call after an overload that named no time."""

LONGEST_WAIT = 10.0
"""Seconds of a pause that a caller waits out; a longer one is better waited for without holding a thread."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class PacingState:
    """How the pacing of a key stands: calls at a time, slots in use, callers that wait, seconds of pause."""

    limit: int
    in_use: int
    waiting: int
    paused_for: float


class Slot:
    """The right to make one call. Tell it how the call went; else it counts as not used."""

    def __init__(self, ticket: str, epoch: int) -> None:
        self.ticket = ticket
        self.epoch = epoch
        self.verdict: Literal["served", "overloaded", "unused"] = "unused"
        self.reason = ""
        self.pause = 0.0

    def served(self) -> None:
        """The call was answered."""
        self.verdict = "served"

    def overloaded(self, reason: str, after: float | None) -> None:
        """The endpoint has too much to do; it asked for ``after`` seconds of silence, if it said so."""
        self.verdict, self.reason = "overloaded", reason
        self.pause = PAUSE if after is None else after


class Pacing:
    """The pacing of one key. For several threads; made after the fork.

    Args:
        patient: the pool's Redis.
        name: names the key everywhere ("model:1f3a9c02").
        most: calls at a time that it never goes beyond.
        lease: see ``LEASE``; tests take less.
    """

    def __init__(self, patient: Patient, name: str, *, most: int, lease: float = LEASE) -> None:
        self.name = name
        self._script = patient.script("pacing")
        named = (keys.pacing, keys.pacing_slots, keys.pacing_queue, keys.pacing_asked)
        self._keys = [key(name) for key in named]
        self._most = most
        self._lease = lease
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self._renewing: threading.Thread | None = None

    @contextmanager
    def slot(self, deadline: Deadline) -> Iterator[Slot]:
        """Wait for a slot and hold it while the block runs.

        Raises:
            DeadlinePassed: there was none before the deadline.
            Unavailable: the endpoint wants a long pause (``after`` says how long), or Redis was away.
        """
        slot = self._wait(uuid.uuid4().hex, deadline)
        self._hold(slot.ticket)
        try:
            yield slot
        finally:
            with self._lock:
                self._held.discard(slot.ticket)
            self._done(slot)

    def state(self) -> PacingState:
        """How it stands now. Raises Unavailable."""
        limit, in_use, waiting, paused = self._call("look")
        return PacingState(limit, in_use, waiting, paused / 1e6)

    def _wait(self, ticket: str, deadline: Deadline) -> Slot:
        try:
            while True:
                granted, number, *pause = self._call("ask", ticket, _micros(self._lease), deadline=deadline)
                if granted:
                    return Slot(ticket, number)
                if pause[0] > LONGEST_WAIT * 1e6:
                    raise Unavailable(f"{self.name} asked for a long pause", after=pause[0] / 1e6)
                wait = number / 1e6 * random.uniform(0.75, 1.0)  # noqa: S311 - jitter
                time.sleep(min(wait, deadline.left()))
                deadline.check(f"a call with {self.name}: all slots stayed in use")
        except BaseException:
            with contextlib.suppress(Unavailable):
                self._call("leave", ticket, deadline=Deadline.after(1.0))
            raise

    def _done(self, slot: Slot) -> None:
        try:
            before, after = self._call(
                "done",
                slot.ticket,
                slot.epoch,
                slot.verdict,
                _micros(slot.pause),
                deadline=Deadline.after(self._lease),
            )
        except Unavailable as error:
            log.warning("pacing.slot_not_returned", pacing=self.name, reason=str(error))
            return
        if before != after:
            reason = slot.reason or "all slots in use, answers good"
            log.info("pacing.limit", pacing=self.name, before=before, after=after, reason=reason)

    def _hold(self, ticket: str) -> None:
        with self._lock:
            self._held.add(ticket)
            if self._renewing is None:
                self._renewing = threading.Thread(target=self._renew_forever, name="pacing", daemon=True)
                self._renewing.start()

    def _renew_forever(self) -> None:
        while True:
            time.sleep(self._lease / 3)
            with self._lock:
                held = sorted(self._held)
                if not held:
                    self._renewing = None
                    return
            with contextlib.suppress(Unavailable):
                self._call("renew", _micros(self._lease), *held, deadline=Deadline.after(self._lease))

    def _call(self, action: str, *args: str | int, deadline: Deadline | None = None) -> Any:
        return self._script(self._keys, ["", action, self._most, *args], deadline=deadline)


def _micros(seconds: float) -> int:
    return int(seconds * 1e6)
