"""Opens a run, exactly one per request, whatever becomes of the answers.

The seed of a dev run for which nobody asked is made from the request's id: a run that a lost answer or a
crash left behind is found by it, from any process, and no other request has the same. A seed that a person
chose is shared by many runs, so there the time of the start counts too, and the run must be untouched. The
final run exists once per team: whichever is in progress is the one.

Whoever finds a run claims it for the request in the ledger. Two producers that ask for the same seed may find
each other's run; each then takes the one that the other left.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from shared.deadline import Deadline
from shared.errors import (
    Conflict,
    DeadlinePassed,
    Malformed,
    NotFound,
    Refused,
    ScrimmageError,
    SettingsError,
    Unavailable,
    Unclear,
)
from shared.models import Kind, Run, RunRef, RunRequest
from shared.platforms.answer import Answer
from shared.platforms.arena.client import ArenaClient
from shared.platforms.arena.models import RunSummary
from shared.platforms.origin import Redirected
from shared.pool.pool import Pool

OPEN_SECONDS = 120.0
"""Seconds for opening a run, looks and repeats included."""

POSTS = 3
"""POST /runs for one request at most."""

LOOKS = (0.0, 1.0, 3.0)
"""Seconds before each look for a run whose POST was not answered: it may still be in the making."""

SLACK = 5.0
"""Seconds by which a start may seem to lie before its request: ``Date`` and ``started_at`` are rounded."""


NO_API = frozenset({404, 405, 410})
"""What servers say to POST /runs that have no such thing."""


@dataclass(frozen=True)
class Opener:
    """Opens and finds runs for one account.

    Args:
        sleep: waits so many seconds.
        stranger: nothing is known of the server yet, so one that answers as no arena would is taken for none.
            Later the same may be a gateway's bad hour.
    """

    client: ArenaClient
    pool: Pool
    sleep: Callable[[float], None] = time.sleep
    stranger: bool = False

    def open(self, request: RunRequest, request_id: str) -> Run:
        """Open a run.

        Raises:
            Refused: the platform said no to every try: there is no run of this request.
            Unclear: a run may be open that could not be found now; ``adopt`` may find it later.
            Unavailable: the platform was not reached: nothing was opened.
            SettingsError: what answers is no arena.
        """
        sent: list[Unclear] = []
        try:
            return self._open(request, request_id, sent)
        except (Refused, Unavailable, DeadlinePassed) as error:
            if not sent and self.stranger and isinstance(error, Unavailable):
                raise Unavailable(f"{error}: is SCRIMMAGE_ARENA_URL right, and the server up?") from None
            if not sent or isinstance(error, Unclear):
                raise
            raise Unclear(f"a run may be open, but {error}") from error

    def _open(self, request: RunRequest, request_id: str, sent: list[Unclear]) -> Run:
        """As ``open``. Notes in ``sent`` that a POST may have opened a run, whatever comes of it."""
        deadline = Deadline.after(OPEN_SECONDS)
        since = self.pool.redis.now()
        seed = _seed(request, request_id)
        for _ in range(POSTS):
            try:
                answer = self.client.start(request.kind, seed, deadline)
                sent.append(
                    Unclear("arena: POST /runs: every run that was started belongs to another request")
                )
                run = self._claimed(answer, request, request_id, deadline)
            except Unclear as unclear:
                sent.append(unclear)
                run = None
            except Conflict:  # of two starts of a final run the other came first: its run is the one
                run = self._look_repeatedly(request, request_id, since, seed, deadline)
                if run is None:
                    raise
            except Redirected as elsewhere:
                raise (self._no_arena(elsewhere) if self.stranger else elsewhere) from None
            except Refused as refusal:
                if refusal.status in NO_API:
                    raise self._no_arena(refusal) from None
                if refusal.status not in {400, 422} or seed is None or request.seed is not None:
                    raise
                seed = None  # the platform takes no seeds: the time of the start must do
                continue
            if run is None:
                run = self._look_repeatedly(request, request_id, since, seed, deadline)
            if run is not None:
                return run
        raise sent[-1]

    def adopt(self, request: RunRequest, request_id: str, since: float) -> Run | None:
        """Find the run of a request that somebody else sent; see ``base.Platform.adopt``."""
        deadline = Deadline.after(OPEN_SECONDS)
        return self._find(request, request_id, since, _seed(request, request_id), deadline)

    def _claimed(
        self, answer: Answer[RunSummary], request: RunRequest, request_id: str, deadline: Deadline
    ) -> Run | None:
        """The run, claimed for the request; None where another request claimed it first."""
        ref = RunRef(platform="arena", run_id=answer.data.run_id)
        if not self.pool.ledger.claim(ref, request_id):
            return None
        if not answer.data.tasks:
            answer = self.client.run(ref, deadline)
        if not answer.data.tasks:
            raise Unavailable(f"malformed answer: run {ref.run_id} has no tasks")
        return answer.data.run(request.kind, answer.now)

    def _look_repeatedly(
        self, request: RunRequest, request_id: str, since: float, seed: int | None, deadline: Deadline
    ) -> Run | None:
        for wait in LOOKS:
            deadline.check("looking for the run that an unclear POST /runs may have left")
            self.sleep(min(wait, deadline.left()))
            run = self._find(request, request_id, since, seed, deadline)
            if run is not None:
                return run
        return None

    def _find(
        self, request: RunRequest, request_id: str, since: float, seed: int | None, deadline: Deadline
    ) -> Run | None:
        """The run of this request, claimed; None where the platform shows none.

        Args:
            since: on Redis's clock; the run did not start before it.
            seed: with which it was started, None for a final run or where the platform takes none.
        """
        listed = self._listed(deadline)
        since += listed.now - self.pool.redis.now() - SLACK  # on the platform's clock
        for summary in listed.data:
            if summary.over or summary.kind not in {None, request.kind}:
                continue
            if seed is not None and summary.seed not in {None, seed}:
                continue
            seed_tells = seed is not None and summary.seed == seed and request.seed is None
            unique = seed_tells or request.kind is Kind.FINAL
            if not unique and (summary.started_at is None or summary.started_at.timestamp() < since):
                continue
            detail = self.client.run(RunRef(platform="arena", run_id=summary.run_id), deadline)
            if not unique and any(task.submitted or task.tool_calls for task in detail.data.tasks):
                continue  # somebody works on it already
            run = self._claimed(detail, request, request_id, deadline)
            if run is not None:
                return run
        return None

    def _listed(self, deadline: Deadline) -> Answer[list[RunSummary]]:
        try:
            return self.client.runs(deadline)
        except (Malformed, NotFound) as error:
            if not self.stranger:
                raise
            raise self._no_arena(error) from None

    def _no_arena(self, error: ScrimmageError) -> SettingsError:
        url = self.pool.settings.arena_url
        words = str(error).removeprefix(f"arena at {url}: ")
        if isinstance(error, Refused) and "HTTP" not in words:
            words = f"HTTP {error.status}, {words}"
        return SettingsError(
            f"{url} answers, but not as an arena ({words}): is SCRIMMAGE_ARENA_URL right? "
            "It ends with the path of the API (/api/v1)"
        )


def _seed(request: RunRequest, request_id: str) -> int | None:
    """The seed to start with: 31 bits, which every platform that takes numbers can hold."""
    if request.kind is Kind.FINAL or request.seed is not None:
        return request.seed if request.kind is Kind.DEV else None
    return int.from_bytes(hashlib.blake2b(request_id.encode(), digest_size=4).digest()) >> 1
