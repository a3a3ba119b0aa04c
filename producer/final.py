"""The one final run: found if it is under way, else started once, whoever asks and however often.

Two things keep it one: the ledger takes one request for a final run at a time (``request_final``), and the
platform refuses a second with 409. Whoever comes second gets the run of the first. If Redis lost everything,
the platform's list of runs shows the final run that is in progress, and it is brought back from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from producer.notebook import Note, Notebook
from producer.preflight import seconds_to_opening
from producer.runs import begin, rebuild, settle
from shared.deadline import Deadline
from shared.errors import DeadlinePassed, Refused, ScrimmageError, Unavailable, UsageError
from shared.models import Kind, RunRef, RunRequest
from shared.platforms.base import Finals, Platform
from shared.pool.ledger import Opening
from shared.pool.pool import Pool

LOOK_SECONDS = 1.0
START_SECONDS = 15.0
STALE_SECONDS = 180.0
LATE_SECONDS = 1800.0
WAIT_SECONDS = 30.0
"""Longest pause between two looks at a window that is not open yet."""


class FinalRun:
    """The final run of one account.

    Args:
        sleep: waits so many seconds; tests inject their own, and a clock that goes with it.
        start_seconds: so long somebody else's start may take before we go on with it. The platform starts
            one at most.
        late_seconds: so long after its announced time a window is waited for, and a platform that does not
            answer.
        stale_seconds: a request of which so long nothing was heard is given up, unless the platform shows
            its run.
    """

    def __init__(
        self,
        pool: Pool,
        platform: Finals,
        request: RunRequest,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        start_seconds: float = START_SECONDS,
        late_seconds: float = LATE_SECONDS,
        stale_seconds: float = STALE_SECONDS,
    ) -> None:
        self._pool = pool
        self._platform = platform
        self._request = request
        self._sleep = sleep
        self._clock = clock
        self._start_seconds = start_seconds
        self._late_seconds = late_seconds
        self._stale_seconds = stale_seconds

    def under_way(self) -> RunRef | None:
        """The final run that was begun already and is not over, back in the ledger; None: there is none.

        Raises:
            Unavailable: the platform or Redis does not answer, so nobody knows.
        """
        for state in self._pool.ledger.runs():
            if self._mine(state.request) and not state.status.final:
                return state.ref
        for opening in self._pool.ledger.openings():
            if self._mine(opening.request) and not self._given_up(opening):
                return self._of(opening.request_id)
        return self._from_platform()

    def start(self, facts: Mapping[str, str]) -> RunRef:
        """Start it, or get the run of whoever was first.

        Args:
            facts: what the receipt tells beside the run.

        Raises:
            Refused: the platform said no: the window is closed, or the final run was used.
            Unclear: it may have begun; the same command finds it.
            Unavailable: the platform did not answer; nothing was started.
        """
        request_id, mine = self._pool.ledger.request_final(self._request)
        if not mine:
            return self._of(request_id)
        return begin(self._pool, self._platform, self._request, request_id, facts)

    def wait_for_window(self, say: Callable[[str], None]) -> None:
        """Wait until the platform says that the window is open, but not for ever beyond its announced time.

        Raises:
            Refused: it is closed, and no opening is announced, or it did not open.
            Unavailable: the platform did not answer all that time.
        """
        opens = self._clock()
        told: object = None
        while True:
            refusal: ScrimmageError
            try:
                standing = self._platform.standing(Deadline.after(20))
                if standing.window_open:
                    return
                left = seconds_to_opening(standing)
                if left is None:
                    raise Refused("the final window is closed, and no opening is announced", status=403)
                opens = self._clock() + left
                news = (
                    f"waiting for the window: {left:.0f} s" if left > 0 else "the window is late: waiting on"
                )
                refusal = Refused("the final window did not open", status=403)
            except (DeadlinePassed, Unavailable) as error:
                news = f"the platform does not answer: {error}"
                refusal = Unavailable(news)
            left = opens - self._clock()
            if left < -self._late_seconds:
                raise refusal
            kind = (type(refusal), left > 0)
            if kind != told:
                say(news)
            told = kind
            self._sleep(min(WAIT_SECONDS, max(LOOK_SECONDS, left / 2, -left / 10)))

    def _mine(self, request: RunRequest) -> bool:
        return request.kind is Kind.FINAL and request.platform == self._platform.name

    def _given_up(self, opening: Opening) -> bool:
        """Close a request whose sender died long ago without a run: only a person begins the final run."""
        age = self._pool.redis.now() - opening.at
        if age < self._stale_seconds or self._platform.final_in_progress(Deadline.after(20)):
            return False
        self._pool.ledger.reject(opening.request_id, "the platform shows no run of this request")
        Notebook(self._pool.settings.data).forget(opening.request_id)
        return True

    def _of(self, request_id: str) -> RunRef:
        """The run of another's request: wait for it, or go on with the request if its sender died."""
        since = time.monotonic()
        while True:
            # The opening first: it becomes a run in one step, so whoever looks in this order misses neither.
            opening = next((o for o in self._pool.ledger.openings() if o.request_id == request_id), None)
            for state in self._pool.ledger.runs():
                if state.request_id == request_id:
                    return state.ref
            if opening is None:
                raise Refused(self._why_refused(request_id))
            if self._platform.final_in_progress(Deadline.after(20)) is not None:
                return settle(self._pool, self._platform, opening)
            if time.monotonic() - since > self._start_seconds:
                return settle(self._pool, self._platform, opening)
            self._sleep(LOOK_SECONDS)

    def _why_refused(self, request_id: str) -> str:
        for rejection in self._pool.ledger.rejections():
            if rejection.request_id == request_id:
                return rejection.reason
        return "the start of the final run was given up by whoever asked for it first; ask again"

    def _from_platform(self) -> RunRef | None:
        """A final run in progress that the ledger does not know: Redis lost it, or it was begun elsewhere."""
        ref = self._platform.final_in_progress(Deadline.after(20))
        if ref is None:
            return None
        note = Notebook(self._pool.settings.data).of(ref)
        if note is None:
            request_id, mine = self._pool.ledger.request_final(self._request)
            if not mine:
                return self._of(request_id)
            note = Note(request_id=request_id, request=self._request, at=self._pool.redis.now(), ref=ref)
        return rebuild(self._pool, self._platform, note)


def with_finals(platform: Platform) -> Finals:
    """The platform, if it has final runs. Raises UsageError."""
    if not isinstance(platform, Finals):
        raise UsageError(f"--platform {platform.name}: it has no final runs")
    return platform
