"""The books: what clients did to an emulator. Counted for every emulator alike, per account.

`Books` keeps what any HTTP client does (requests, rates, answers to 429); an emulator adds its own counts
under names of its choice (`Account.count`). `BookKeeping` is the ASGI layer that fills in the first part.
Everything is bounded: a book that is full of names counts further ones together, as ``(others)``.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulators.clock import Clock, iso

WINDOWS = (1.0, 10.0, 60.0)
"""Seconds over which peaks are counted."""

_NAMES = 20_000
"""At most so many different names in one count."""


class Peaks:
    """The largest number of requests in any window of 1, 10 and 60 s, and the burst that they needed.

    ``burst`` is the smallest token bucket (at ``rate`` tokens a second) that would have let every request
    pass: the largest ``n - rate * t`` over *all* windows, whatever their length.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._recent: dict[float, deque[float]] = {window: deque() for window in WINDOWS}
        self._most = dict.fromkeys(WINDOWS, 0)
        self._level = 0.0
        self._last = -math.inf
        self._burst = 0.0

    def arrive(self, now: float) -> None:
        """One request at ``now`` (monotonic seconds)."""
        for window, recent in self._recent.items():
            recent.append(now)
            while recent[0] <= now - window:
                recent.popleft()
            self._most[window] = max(self._most[window], len(recent))
        self._level = max(0.0, self._level - (now - self._last) * self._rate) + 1.0
        self._last = now
        self._burst = max(self._burst, self._level)

    def report(self) -> dict[str, float]:
        return {f"{window:g}s": self._most[window] for window in WINDOWS} | {"burst": round(self._burst, 2)}


class Account:
    """One account's page of the books."""

    def __init__(self, rate: float) -> None:
        self.requests = 0
        self.over_limit = 0
        self.during_pause = 0
        self.early_retries = 0
        self.endpoints: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.peaks = Peaks(rate)
        self._counts: dict[str, Counter[str]] = {}
        self._paused_until = -math.inf
        self._refused: dict[str, float] = {}

    def count(self, what: str, name: str) -> int:
        """Count ``name`` under ``what`` (``"blobs", sha256``).

        Returns:
            How often it has been counted by now.
        """
        counter = self._counts.setdefault(what, Counter())
        _add(counter, name)
        return counter[name]

    def arrive(self, request: str, now: float) -> None:
        """A request came. ``request`` is method and path: a retry is the same one again."""
        self.requests += 1
        self.peaks.arrive(now)
        if now < self._paused_until:
            self.during_pause += 1
        if self._refused and now < self._refused.get(request, -math.inf):
            self.early_retries += 1

    def refused(self, request: str, now: float, after: float) -> None:
        """A 429 went out that asked to wait ``after`` seconds."""
        self._paused_until = max(self._paused_until, now + after)
        self._refused = {text: until for text, until in self._refused.items() if until > now}
        if len(self._refused) < _NAMES:
            self._refused[request] = now + after

    def report(self) -> dict[str, Any]:
        return {
            "requests": self.requests,
            "over_limit": self.over_limit,
            "during_pause": self.during_pause,
            "early_retries": self.early_retries,
            "by_endpoint": dict(self.endpoints.most_common()),
            "by_status": dict(sorted(self.statuses.items())),
            "peaks": self.peaks.report(),
            **{what: dict(counter) for what, counter in sorted(self._counts.items())},
        }


class Books:
    """All pages.

    Args:
        rate: the limit's requests per second; what `Peaks.burst` is measured against.
        burst: the limit's burst, for the report only.
        clock: the emulator's.
    """

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        self.rate = rate
        self.burst = burst
        self._clock = clock
        self._opened = clock.now()
        self._accounts: dict[str, Account] = {}

    def account(self, name: str) -> Account:
        """The page of an account; made where there is none."""
        page = self._accounts.get(name)
        if page is None:
            page = self._accounts[name] = Account(self.rate)
        return page

    def report(self) -> dict[str, Any]:
        """The books as JSON data. ``over_limit``: requests that the bucket had no token for;
        ``during_pause``: requests before a 429's Retry-After had passed; ``early_retries``: those of them
        that repeated the refused request."""
        return {
            "since": iso(self._opened),
            "seconds": round(self._clock.now() - self._opened, 3),
            "limit": {"rate": self.rate, "burst": self.burst},
            "accounts": {name: page.report() for name, page in sorted(self._accounts.items())},
        }


class BookKeeping:
    """ASGI layer around an emulator and its faults: writes down requests and answers.

    Args:
        app: what answers.
        books: where to write.
        account: names the account of a request; None: it is nobody's business.
        endpoint: names the endpoint of a request, from method and path.
        clock: the emulator's.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        books: Books,
        account: Callable[[Scope], str | None],
        endpoint: Callable[[Scope], str],
        clock: Clock,
    ) -> None:
        self._app = app
        self._books = books
        self._account = account
        self._endpoint = endpoint
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = self._account(scope)
        if name is None:
            await self._app(scope, receive, send)
            return
        page = self._books.account(name)
        request = f"{scope['method']} {scope['path']}"
        page.arrive(request, self._clock.ticks())
        status = "none"

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
                if status == "429":
                    page.refused(request, self._clock.ticks(), self._pause(message))
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            _add(page.endpoints, self._endpoint(scope))
            _add(page.statuses, status)

    def _pause(self, message: Message) -> float:
        """Seconds that an answer's Retry-After asks for, in either form; 0 where there is none."""
        for name, value in message["headers"]:
            if name.lower() == b"retry-after":
                text = value.decode("latin-1")
                if text.isdigit():
                    return float(text)
                return max(0.0, parsedate_to_datetime(text).timestamp() - self._clock.now())
        return 0.0


def _add(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < _NAMES else "(others)"] += 1
