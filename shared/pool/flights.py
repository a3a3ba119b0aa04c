"""Single flight: of all who want the same thing at the same time, in the whole pool, one does the work.

The leader holds a short lease that a thread renews, so a leader that dies is replaced within seconds. The
others wait until the thing has landed where all can find it (the blob cache). If the work fails, its
failure is published for a few seconds: those who wait raise the same error instead of queueing up to try in
turn.
"""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import structlog

from shared.deadline import Deadline
from shared.errors import (
    CapReached,
    Conflict,
    DeadlinePassed,
    LeaseLost,
    NotAuthorised,
    NotFound,
    Refused,
    ScrimmageError,
    Unavailable,
)
from shared.pool import keys
from shared.pool.connection import Patient

T = TypeVar("T")

_LANDED_SECONDS = 5.0
_FAILED_SECONDS = 3.0
_FIRST_LOOK, _LONGEST_LOOK = 0.02, 0.2
_REFUSALS = {kind.__name__: kind for kind in (Refused, NotAuthorised, NotFound, Conflict)}

log = structlog.get_logger(__name__)


class Missing(Unavailable):
    """The work was done, and the thing was not there."""


class Flights:
    """Flights by name, over Redis. For several threads.

    Args:
        patient: the pool's Redis.
        lease: seconds after which a silent leader is replaced.
    """

    def __init__(self, patient: Patient, *, lease: float = 3.0) -> None:
        self._script = patient.script("flights")
        self._lease = lease

    def fly(self, name: str, work: Callable[[], T], landed: Callable[[], T | None], deadline: Deadline) -> T:
        """Get what ``landed`` finds; where it finds nothing, do ``work``, or wait for whoever does it.

        Args:
            name: names the thing in the whole pool ("blob:" + sha).
            work: makes the thing, puts it where ``landed`` looks, and returns it. A leader that was taken for
                dead goes on, so it may run twice: it must be harmless then.
            landed: looks for the thing; None where it is not there.
            deadline: bounds the waiting. ``work`` bounds itself.

        Raises:
            DeadlinePassed: somebody else still works on it.
            Unavailable, Refused: the work failed, here or wherever it was done. Missing stays Missing.
        """
        owner = uuid.uuid4().hex
        look = _FIRST_LOOK
        in_vain = False
        found = landed()
        while found is None:
            state, *failure = self._call(
                name, "join", owner, _micros(self._lease), int(in_vain), deadline=deadline
            )
            if state == "lead":
                return self._lead(name, owner, work)
            if state == "failed":
                raise _rebuilt(failure[0])
            if state == "landed":
                found = landed()
                in_vain = found is None
                continue
            deadline.check(f"waiting for {name}, which another worker fetches")
            time.sleep(min(deadline.left(), look * random.uniform(0.7, 1.0)))  # noqa: S311 - jitter
            look = min(_LONGEST_LOOK, look * 1.5)
        return found

    def _lead(self, name: str, owner: str, work: Callable[[], T]) -> T:
        with self._renewing(name, owner):
            try:
                done = work()
            except (CapReached, DeadlinePassed, LeaseLost):
                self._end(name, "leave", owner)  # this worker's own end says nothing about the thing
                raise
            except Exception as error:
                self._end(name, "fail", owner, _micros(_FAILED_SECONDS), _published(name, error))
                raise
            except BaseException:
                self._end(name, "leave", owner)
                raise
            self._end(name, "land", owner, _micros(_LANDED_SECONDS))
        return done

    @contextlib.contextmanager
    def _renewing(self, name: str, owner: str) -> Iterator[None]:
        over = threading.Event()

        def renew() -> None:
            while not over.wait(self._lease / 3):
                with contextlib.suppress(Unavailable):
                    if not self._call(name, "renew", owner, _micros(self._lease), deadline=self._soon()):
                        log.info("flights.lease_lost", flight=name)
                        return

        thread = threading.Thread(target=renew, name="flight-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _end(self, name: str, *words: str | int) -> None:
        """Tell the others; if Redis is away, the lease runs out instead."""
        with contextlib.suppress(Unavailable):
            self._call(name, *words, deadline=self._soon())

    def _soon(self) -> Deadline:
        return Deadline.after(self._lease)

    def _call(self, name: str, *words: str | int, deadline: Deadline) -> Any:
        return self._script([keys.flight(name), keys.FLIGHTS], words, deadline=deadline)


def _micros(seconds: float) -> int:
    return int(seconds * 1e6)


def _published(name: str, error: Exception) -> str:
    """A failure as others will read it. Of an unexpected error only the kind is told."""
    message = str(error) if isinstance(error, ScrimmageError) else f"{name} failed: {type(error).__name__}"
    return json.dumps(
        {
            "kind": type(error).__name__,
            "message": message,
            "after": getattr(error, "after", None),
            "status": getattr(error, "status", None),
        }
    )


def _rebuilt(text: str) -> ScrimmageError:
    failure = json.loads(text)
    if kind := _REFUSALS.get(failure["kind"]):
        return kind(failure["message"], status=failure["status"])
    infrastructure = Missing if failure["kind"] == Missing.__name__ else Unavailable
    return infrastructure(failure["message"], after=failure["after"])
