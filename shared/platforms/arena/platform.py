"""The Harness Arena as a platform of the pool (Harness Arena Task API v1).

Where an answer is unclear, a look settles it: for POST /runs in ``opening``, for submits in ``submitting``,
for finish here. State-changing tools are the exception: ``Unclear`` goes to the caller, who has the journal.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Self

from pydantic import JsonValue

from shared.deadline import Deadline
from shared.errors import Conflict, NotAuthorised, Refused, SettingsError, Unavailable, UsageError
from shared.models import (
    JsonObject,
    Kind,
    Receipt,
    Run,
    RunRef,
    RunRequest,
    RunView,
    Scorecard,
    Solution,
    Task,
    ToolResult,
)
from shared.platforms.arena.client import ArenaClient
from shared.platforms.arena.files import ArenaFiles, listed
from shared.platforms.arena.models import FinalWindow, Tools
from shared.platforms.arena.opening import Opener
from shared.platforms.arena.scoring import cost_score, final_score
from shared.platforms.arena.submitting import AT_ONCE, Submitter
from shared.platforms.base import Limits, Prepared, Standing
from shared.platforms.http import Http
from shared.platforms.origin import Origin
from shared.platforms.reach import reach
from shared.pool import keys
from shared.pool.bucket import Bucket
from shared.pool.listings import Listing, Listings
from shared.pool.pool import Pool
from shared.settings import Settings, fingerprint

EFFECTS = frozenset({"containment", "send_message", "write"})
_STATE_CHANGING = re.compile(r"state[- ]chang|changes (the )?state", re.IGNORECASE)

LISTING_SECONDS = 60.0
"""Seconds that asking for the run's manifest or the list of tools may take."""
FINAL_SECONDS = 1800.0
"""A final run's time, unless the window closes earlier ("POST /runs")."""
TOOLS_AGE = 3600.0
"""Seconds after which GET /tools is asked again."""
LISTINGS_HELD = 16
"""Runs whose listing a process keeps in memory."""
FIRST_TRIES = 4
"""Requests for one answer while a person waits for the first: less than two seconds of them."""


class ArenaPlatform:
    """One team's account at the arena; ``base.Platform`` says what each method is for.

    Args:
        sleep: how to wait between two tries or looks; tests inject their own.
    """

    name = "arena"
    read_only = frozenset(
        {"tree", "list", "read", "search", "query_logs", "access_path", "threat_intel", "get_containment"}
    )
    limits = Limits(rate=20.0, burst=100)

    def __init__(
        self, settings: Settings, pool: Pool, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._settings = settings
        self._pool = pool
        origin = Origin(
            settings.arena_url,
            name=self.name,
            headers=lambda: {"Authorization": f"Bearer {self._key()}"},
            connections=settings.threads + AT_ONCE,
            timeout=settings.http_timeout,
        )
        self._client = ArenaClient(Http(origin, bucket=self._bucket, sleep=sleep))
        self._opener = Opener(self._client, pool, sleep)
        hasty = ArenaClient(Http(origin, bucket=self._bucket, sleep=sleep, tries=FIRST_TRIES))
        self._first_opener = Opener(hasty, pool, sleep, stranger=True)
        self._met = True
        self._submitter = Submitter(self._client, sleep)
        self._listings = Listings(pool.redis)
        self._held: OrderedDict[RunRef, Listing] = OrderedDict()
        self._tools: tuple[float, Mapping[str, JsonObject]] | None = None
        self._lock = threading.Lock()

    @classmethod
    def create(cls, settings: Settings, pool: Pool) -> Self:
        """Nothing is opened or asked yet; a missing key shows when the first thing is done."""
        return cls(settings, pool)

    def account(self) -> str:
        return fingerprint(f"{self._settings.arena_url} {self._key()}")

    def reach(self, say: Callable[[str], None]) -> None:
        """Whether anybody listens; see ``reach.Reachable``."""
        reach(self._settings.arena_url, "SCRIMMAGE_ARENA_URL", say)
        self._met = False

    def prepare(self, request: RunRequest) -> Prepared:  # noqa: ARG002 - the arena's clock starts with the run
        return Prepared()

    def open(self, request: RunRequest, prepared: Prepared, request_id: str) -> Run:  # noqa: ARG002
        opener = self._opener if self._met else self._first_opener
        run = opener.open(request, request_id)
        self._met = True
        return run

    def adopt(self, request: RunRequest, request_id: str, since: float) -> Run | None:
        return self._opener.adopt(request, request_id, since)

    def files(self, run: Run, task: Task) -> ArenaFiles:
        return ArenaFiles(self._client, run.ref, task.task_id, self._listing(run))

    def tools(self, run: Run) -> Mapping[str, JsonObject]:  # noqa: ARG002 - the list is the same for all runs
        known = self._tools
        if known is None or self._pool.redis.now() - known[0] > TOOLS_AGE:
            known = self._pool.flights.fly(
                f"tools:{self.account()}",
                self._ask_for_tools,
                self._known_tools,
                Deadline.after(LISTING_SECONDS),
            )
            self._tools = known
        return known[1]

    def call_tool(
        self, run: Run, task: Task, name: str, args: Mapping[str, JsonValue], deadline: Deadline
    ) -> ToolResult:
        write = name not in self.read_only  # a tool of which nothing is known may change state
        try:
            answer = self._client.call_tool(run.ref, task.task_id, name, args, deadline, write=write)
        except (Conflict, NotAuthorised):
            raise  # of the run, not of the call
        except (Refused, UsageError) as error:
            return ToolResult(ok=False, error=str(error))
        return ToolResult(ok=answer.ok, result=answer.result, error=answer.message())

    def look(self, run: Run, deadline: Deadline) -> RunView:
        answer = self._client.run(run.ref, deadline)
        return answer.data.view(answer.now)

    def submit(self, run: Run, solutions: Mapping[str, Solution], deadline: Deadline) -> Iterator[Receipt]:
        return self._submitter.submit(run.ref, solutions, deadline)

    def finish(self, run: Run, deadline: Deadline) -> Scorecard:
        try:
            answer = self._client.finish(run.ref, deadline)
        except (Refused, Unavailable) as error:
            seen = self._client.run(run.ref, deadline).data
            if not seen.over:
                raise error from None
            return self._scored(seen.scorecard())
        card = answer.scorecard()
        if run.kind is Kind.DEV and not card.reveals:
            seen = self._client.run(run.ref, deadline).data
            card = seen.scorecard() if seen.over else card
        return self._scored(card.model_copy(update={"status": card.status or "finished"}))

    def refresh(self, run: Run, deadline: Deadline) -> Scorecard:
        return self._scored(self._client.run(run.ref, deadline).data.scorecard())

    def _scored(self, card: Scorecard) -> Scorecard:
        """Fill in the scores that the platform left out, where cost, floor and cap are known."""
        floor, cap = self._settings.arena_cost_floor, self._settings.arena_cost_cap
        if card.cost_score is not None or card.cost_usd is None or floor is None or cap is None:
            return card
        known: dict[str, float] = {"cost_score": cost_score(card.cost_usd, floor, cap)}
        if card.final_score is None and card.accuracy is not None:
            known["final_score"] = final_score(card.accuracy, known["cost_score"])
        return card.model_copy(update=known)

    def runs(self, deadline: Deadline) -> list[JsonObject]:
        listed = self._client.runs(deadline).data
        return [run.model_dump(mode="json", exclude={"tasks"}) for run in listed]

    def recall(self, ref: RunRef, deadline: Deadline) -> tuple[Run, RunView]:
        answer = self._client.run(ref, deadline)
        kind = Kind.FINAL if answer.data.kind == Kind.FINAL else Kind.DEV
        return answer.data.run(kind, answer.now), answer.data.view(answer.now)

    def standing(self, deadline: Deadline) -> Standing:
        """``GET /me``, for `scrimmage final`."""
        answer = self._client.me(deadline)
        team, window = answer.data.team, answer.data.final_window or FinalWindow()
        return Standing(
            team=None if team is None else team.name or team.id,
            window_open=window.open,
            opens_at=window.opens_at,
            closes_at=window.closes_at,
            used=answer.data.final_run_used,
            now=answer.now,
            told_clock=answer.server_now is not None,
            seconds=FINAL_SECONDS,
        )

    def final_in_progress(self, deadline: Deadline) -> RunRef | None:
        for run in self._client.runs(deadline).data:
            if run.kind == Kind.FINAL and not run.over:
                return RunRef(platform=self.name, run_id=run.run_id)
        return None

    def close(self) -> None:
        """Close this process's connections to the arena."""
        self._client.close()

    def _key(self) -> str:
        if self._settings.arena_key is None:
            raise SettingsError("no key for the arena: set SCRIMMAGE_ARENA_KEY (the team's arena_… key)")
        return self._settings.arena_key.get_secret_value()

    def _bucket(self) -> Bucket:
        return self._pool.bucket(f"{self.name}:{self.account()}", self.limits)

    def _listing(self, run: Run) -> Listing:
        """The run's listing: from memory, the pool, or the platform, asked once in the whole pool."""
        ref = run.ref
        with self._lock:
            if ref in self._held:
                self._held.move_to_end(ref)
                return self._held[ref]
        listing = self._pool.flights.fly(
            f"listing:{ref}",
            lambda: self._ask_for_listing(run),
            lambda: self._listings.get(ref),
            Deadline.after(LISTING_SECONDS),
        )
        with self._lock:
            self._held[ref] = listing
            while len(self._held) > LISTINGS_HELD:
                self._held.popitem(last=False)
        return listing

    def _ask_for_listing(self, run: Run) -> Listing:
        listing = listed(self._client, run, Deadline.after(LISTING_SECONDS))
        self._listings.put(run.ref, listing)
        return listing

    def _ask_for_tools(self) -> tuple[float, Mapping[str, JsonObject]]:
        answer = self._client.tools(Deadline.after(LISTING_SECONDS))
        known = (self._pool.redis.now(), _described(answer))
        held = json.dumps(known)
        self._pool.redis.do(lambda client: client.set(keys.tools(self.account()), held))
        return known

    def _known_tools(self) -> tuple[float, Mapping[str, JsonObject]] | None:
        """What the pool knows of the tools, None where that is nothing or too old."""
        stored = self._pool.redis.do(lambda client: client.get(keys.tools(self.account())))
        if stored is None:
            return None
        at, tools = json.loads(stored)
        return (at, tools) if self._pool.redis.now() - at <= TOOLS_AGE else None


def _described(answer: Tools) -> dict[str, JsonObject]:
    """The tools by name. Which change state is said by the text, or by their description."""
    return {
        tool.name: {
            "description": tool.description or "",
            "args": tool.args,
            "effect": tool.name in EFFECTS or bool(_STATE_CHANGING.search(tool.description or "")),
        }
        for tool in answer.tools
    }
