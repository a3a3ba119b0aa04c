"""Requests to one platform: every one of the pool passes here, and through its bucket.

Answers that are no use are asked for again (``retry`` has the table); a write whose answer was lost raises
``Unclear``, because repeating it is a decision that needs a look at the platform first.
"""

from __future__ import annotations

import random as _random
import time
from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import quote

import httpx
from pydantic import JsonValue

from shared.deadline import Deadline
from shared.errors import (
    Conflict,
    DeadlinePassed,
    Malformed,
    NotAuthorised,
    NotFound,
    Refused,
    Unavailable,
    Unclear,
    UsageError,
)
from shared.models import RunRef
from shared.platforms.answer import Answer, error_message, read_json, write_json
from shared.platforms.origin import REDIRECTS, Origin
from shared.platforms.retry import TRIES, Failure, back_off, http_date, retry_after
from shared.pool.bucket import Bucket, Lane

T = TypeVar("T")

JSON_LIMIT = 32 * 2**20
"""Bytes of a JSON answer that are read at most (a manifest of 30 tasks has some 0.2 MB)."""

_KINDS = {401: NotAuthorised, 403: NotAuthorised, 404: NotFound, 409: Conflict, 410: NotFound}


class Http:
    """Requests to one origin, on one account.

    Args:
        origin: where, and with which key.
        bucket: gives the bucket of the account.
        random: numbers in [0, 1) for jitter.
        sleep: waits so many seconds.
        tries: requests for one answer at most.
    """

    def __init__(
        self,
        origin: Origin,
        *,
        bucket: Callable[[], Bucket],
        random: Callable[[], float] = _random.random,
        sleep: Callable[[float], None] = time.sleep,
        tries: int = TRIES,
    ) -> None:
        self._origin = origin
        self._bucket = bucket
        self._random = random
        self._sleep = sleep
        self._tries = tries

    def json(
        self,
        method: str,
        path: str,
        shape: Callable[[JsonValue], T],
        *,
        lane: Lane,
        deadline: Deadline,
        body: JsonValue = None,
        params: Mapping[str, str] | None = None,
        run: RunRef | None = None,
        write: bool = False,
    ) -> Answer[T]:
        """Ask for JSON and read it into a shape. An answer that has not that shape is asked for again.

        Args:
            path: below the origin, begins with a slash, its parts quoted (``segment``).
            shape: turns the JSON into what the caller wants; raises ValueError where it cannot.
            body: sent as JSON; None sends no body.
            run: the run on whose account the request is counted.
            write: True for a request that must not take effect twice.

        Raises:
            Refused: the platform said no.
            Unclear: a write was sent and its answer was lost.
            Unavailable: no usable answer after all tries.
            DeadlinePassed: the time was up before an answer came.
            UsageError: ``body`` is not JSON.
        """
        return self._send(
            lambda data: shape(read_json(self._origin.without_key(data))),
            method,
            path,
            lane=lane,
            deadline=deadline,
            content=None if body is None else write_json(body, f"{method} {path}"),
            params=params,
            run=run,
            write=write,
            limit=JSON_LIMIT,
        )

    def raw(
        self,
        path: str,
        *,
        lane: Lane,
        deadline: Deadline,
        limit: int,
        params: Mapping[str, str] | None = None,
        run: RunRef | None = None,
    ) -> Answer[bytes]:
        """GET raw bytes, at most ``limit`` of them. Raises as ``json`` does."""
        return self._send(
            lambda data: data,
            "GET",
            path,
            lane=lane,
            deadline=deadline,
            content=None,
            params=params,
            run=run,
            write=False,
            limit=limit,
        )

    def close(self) -> None:
        """Close this process's connections. A later request opens new ones."""
        self._origin.close()

    def _send(
        self,
        read: Callable[[bytes], T],
        method: str,
        path: str,
        *,
        lane: Lane,
        deadline: Deadline,
        content: bytes | None,
        params: Mapping[str, str] | None,
        run: RunRef | None,
        write: bool,
        limit: int,
    ) -> Answer[T]:
        doing = f"{self._origin}: {method} {path}"
        url = httpx.URL(self._origin.url + path, params=params)
        failure = Failure("no try was made", landed=False)
        for attempt in range(self._tries):
            deadline.check(doing)
            self._origin.ready()
            self._bucket().acquire(lane, deadline, run=run)
            deadline.check(doing)  # a write that cannot be answered in time is better not sent
            try:
                status, headers, data = self._origin.exchange(method, url, content, deadline, limit)
                if status in REDIRECTS:
                    url = self._origin.redirected(doing, method, url, status, headers)
                    failure = Failure("redirected in circles", landed=False)
                    continue
                server_now = http_date(headers.get("date", ""))
                if not 200 <= status < 300:
                    raise self._failure(doing, status, headers, data, server_now)
                return Answer(status, self._read(read, data), headers, server_now)
            except Failure as caught:
                failure = caught
            if write and failure.landed:
                raise Unclear(f"{doing} may have happened: {failure}", after=failure.after)
            if not failure.again:
                break
            if attempt + 1 < self._tries:
                self._wait(doing, failure, back_off(attempt, self._random), deadline)
        kind = Malformed if failure.malformed else Unavailable
        raise kind(f"{doing} failed: {failure}", after=failure.after)

    def _failure(
        self, doing: str, status: int, headers: Mapping[str, str], data: bytes, server_now: float | None
    ) -> Failure | Refused:
        """What an answer other than 2xx means; a 429 pauses the whole bucket."""
        said = error_message(data)
        words = self._origin.clean(f"HTTP {status}: {said}" if said else f"HTTP {status} without a message")
        after = retry_after(headers, time.time() if server_now is None else server_now)
        if status == 429:
            self._bucket().pause(1.0 if after is None else after)
            return Failure(words, landed=False, after=after)
        if status >= 500 or status in {408, 425}:
            return Failure(words, landed=True, after=after)
        if 400 <= status < 500:
            kind = _KINDS.get(status, Refused)
            return kind(f"{doing}: {words}" if said is None else self._origin.clean(said), status=status)
        return Failure(words, landed=True)

    def _read(self, read: Callable[[bytes], T], data: bytes) -> T:
        try:
            return read(data)
        except (ValueError, RecursionError) as error:
            words = self._origin.clean(f"malformed answer: {error}")
            raise Failure(words, landed=True, malformed=True) from None

    def _wait(self, doing: str, failure: Failure, seconds: float, deadline: Deadline) -> None:
        seconds = max(seconds, failure.after or 0.0)
        if seconds >= deadline.left():
            raise DeadlinePassed(f"no time left for {doing}: {failure}")
        self._sleep(seconds)


def segment(text: str) -> str:
    """Quote one part of a path. Raises UsageError for names that would lead to another place."""
    if text in {"", ".", ".."}:
        raise UsageError(f"not usable as part of a URL: {text!r}")
    return quote(text, safe="")
