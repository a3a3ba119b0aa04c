"""HTTP to one platform: every request of the pool to it passes here, and through its bucket.

One ``httpx.Client`` per process, made at first use and never shared over a fork. The key goes to the
configured origin and nowhere else: other hosts are not even asked, whatever a redirect says. Answers that
are no use are asked for again (``retry`` has the table); a write whose answer was lost raises ``Unclear``,
because repeating it is a decision that needs a look at the platform first.
"""

from __future__ import annotations

import json
import os
import random as _random
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from ipaddress import ip_address
from typing import Generic, TypeVar
from urllib.parse import quote

import httpx
from pydantic import JsonValue

from shared.deadline import Deadline
from shared.errors import (
    Conflict,
    DeadlinePassed,
    NotAuthorised,
    NotFound,
    Refused,
    SettingsError,
    Unavailable,
    Unclear,
    UsageError,
)
from shared.models import RunRef
from shared.platforms.retry import TRIES, Failure, back_off, http_date, retry_after
from shared.pool.bucket import Bucket, Lane

T = TypeVar("T")

JSON_LIMIT = 32 * 2**20
"""Bytes of a JSON answer that are read at most (a manifest of 30 tasks has some 0.2 MB)."""

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 4.0
"""Idle connections are closed before common servers do it (5 s): a request sent into a connection that is
just being closed has an unclear fate."""

_REDIRECTS = {301, 302, 303, 307, 308}
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_KINDS = {401: NotAuthorised, 403: NotAuthorised, 404: NotFound, 409: Conflict, 410: NotFound}


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A usable answer.

    Args:
        status: 2xx.
        data: the body, as the caller wanted it read.
        headers: names in lower case.
        server_now: the server's clock when it answered (its ``Date`` header, whole seconds since the epoch),
            None where it did not say.
    """

    status: int
    data: T
    headers: Mapping[str, str]
    server_now: float | None

    @property
    def now(self) -> float:
        """The server's clock, ours where it did not say."""
        return time.time() if self.server_now is None else self.server_now


class Http:
    """Requests to one origin.

    Args:
        origin: base URL, without a slash at its end; may have a path.
        name: of the platform, for messages.
        headers: gives the headers that carry the key; called when the client is made, may raise
            SettingsError.
        bucket: gives the bucket of the account.
        connections: requests at a time in this process (threads that may ask at once).
        timeout: seconds until an unanswered request counts as failed.
        random: numbers in [0, 1) for jitter.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        origin: str,
        *,
        name: str,
        headers: Callable[[], Mapping[str, str]],
        bucket: Callable[[], Bucket],
        connections: int,
        timeout: float,
        random: Callable[[], float] = _random.random,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.origin = origin
        self.name = name
        self._headers = headers
        self._bucket = bucket
        self._connections = connections
        self._timeout = timeout
        self._random = random
        self._sleep = sleep
        self._clients: dict[int, httpx.Client] = {}

    def __repr__(self) -> str:
        return f"Http({self.origin!r})"

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
            lambda data: shape(_loads(self._without_key(data))),
            method,
            path,
            lane=lane,
            deadline=deadline,
            content=None if body is None else _dumps(body, f"{method} {path}"),
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
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()

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
        doing = f"{self.name} at {self.origin}: {method} {path}"
        url = httpx.URL(self.origin + path, params=params)
        failure = Failure("no try was made", landed=False)
        for attempt in range(TRIES):
            deadline.check(doing)
            self._bucket().acquire(lane, deadline, run=run)
            deadline.check(doing)  # a write that cannot be answered in time is better not sent
            try:
                status, headers, data = self._exchange(method, url, content, deadline, limit)
                if status in _REDIRECTS:
                    url = self._redirected(doing, method, url, status, headers)
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
            if attempt + 1 < TRIES:
                self._wait(doing, failure, back_off(attempt, self._random), deadline)
        raise Unavailable(f"{doing} failed: {failure}", after=failure.after)

    def _exchange(
        self, method: str, url: httpx.URL, content: bytes | None, deadline: Deadline, limit: int
    ) -> tuple[int, Mapping[str, str], bytes]:
        """One request and its whole answer. Raises Failure where the transport failed."""
        until = deadline.sooner(self._timeout)
        seconds = max(until.left(), 0.001)
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        headers = {} if content is None else {"content-type": "application/json"}
        try:
            with self._client().stream(
                method, url, content=content, headers=headers, timeout=timeout
            ) as response:
                data = _body(response, limit, until)
                named = {name.lower(): value for name, value in response.headers.items()}
                return response.status_code, named, data
        except httpx.HTTPError as error:
            words = f"{type(error).__name__}: {error}"
            raise Failure(
                self._clean(words),
                landed=not isinstance(error, _NOT_SENT),
                again="CERTIFICATE_VERIFY_FAILED" not in words,
            ) from None  # the error holds the request, and that the key

    def _failure(
        self, doing: str, status: int, headers: Mapping[str, str], data: bytes, server_now: float | None
    ) -> Failure | Refused:
        """What an answer other than 2xx means; a 429 pauses the whole bucket."""
        said = _error_message(data)
        words = self._clean(f"HTTP {status}: {said}" if said else f"HTTP {status} without a message")
        after = retry_after(headers, time.time() if server_now is None else server_now)
        if status == 429:
            self._bucket().pause(1.0 if after is None else after)
            return Failure(words, landed=False, after=after)
        if status >= 500 or status in {408, 425}:
            return Failure(words, landed=True, after=after)
        if 400 <= status < 500:
            kind = _KINDS.get(status, Refused)
            return kind(f"{doing}: {words}" if said is None else self._clean(said), status=status)
        return Failure(words, landed=True)

    def _read(self, read: Callable[[bytes], T], data: bytes) -> T:
        try:
            return read(data)
        except (ValueError, RecursionError) as error:
            raise Failure(self._clean(f"malformed answer: {error}"), landed=True) from None

    def _redirected(
        self, doing: str, method: str, url: httpx.URL, status: int, headers: Mapping[str, str]
    ) -> httpx.URL:
        """Where a redirect leads, if that is the same origin and the request stays what it is."""
        try:
            target = url.join(headers.get("location", ""))
        except httpx.InvalidURL:
            target = httpx.URL()
        if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
            elsewhere = self._clean(f"{target.scheme}://{target.host}")
            raise Refused(
                f"{doing}: redirected to {elsewhere}, which gets no request: the key is for {self.origin} "
                "alone. If that is the platform's new address, set its URL",
                status=status,
            )
        if method != "GET" and status not in {307, 308}:
            raise Refused(f"{doing}: redirected by HTTP {status}, which would drop its body", status=status)
        return target

    def _wait(self, doing: str, failure: Failure, seconds: float, deadline: Deadline) -> None:
        seconds = max(seconds, failure.after or 0.0)
        if seconds >= deadline.left():
            raise DeadlinePassed(f"no time left for {doing}: {failure}")
        self._sleep(seconds)

    def _client(self) -> httpx.Client:
        pid = os.getpid()
        client = self._clients.get(pid)
        if client is None:
            made = self._make_client()
            client = self._clients.setdefault(pid, made)  # atomic: of two threads one wins
            if client is not made:
                made.close()
        return client

    def _make_client(self) -> httpx.Client:
        secret = dict(self._headers())
        for value in secret.values():
            if not (value.isascii() and value.isprintable()):
                raise SettingsError(f"{self.name}: the key holds characters that no HTTP header can carry")
        return httpx.Client(
            headers={
                "accept": "application/json, */*",
                "user-agent": f"scrimmage/{version('scrimmage')}",
                **secret,
            },
            follow_redirects=False,
            trust_env=not is_loopback(httpx.URL(self.origin).host),  # a proxy cannot reach our loopback
            limits=httpx.Limits(
                max_connections=self._connections,
                max_keepalive_connections=self._connections,
                keepalive_expiry=IDLE_SECONDS,
            ),
        )

    def _clean(self, text: str) -> str:
        """Words from outside, fit for a message: one line, bounded, without keys."""
        return printable(self._without_key(text.encode(errors="replace")).decode())

    def _without_key(self, data: bytes) -> bytes:
        """An answer that repeats our key (in a tool's error, in feedback) would be kept as it is."""
        for value in self._headers().values():
            for word in value.split():
                if len(word) >= 8:
                    data = data.replace(word.encode(), b"[key]")
        return data


def segment(text: str) -> str:
    """Quote one part of a path. Raises UsageError for names that would lead to another place."""
    if text in {"", ".", ".."}:
        raise UsageError(f"not usable as part of a URL: {text!r}")
    return quote(text, safe="")


def printable(text: str, limit: int = 300) -> str:
    """``text`` in one line of at most ``limit`` characters, without control and format characters."""
    shown = "".join(
        " " if unicodedata.category(letter)[0] in "CZ" else letter for letter in text[: 4 * limit]
    )
    shown = " ".join(shown.split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _body(response: httpx.Response, limit: int, until: Deadline) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in response.iter_bytes():
        size += len(part)
        if size > limit:
            raise Failure(f"malformed answer: longer than {limit} bytes", landed=True, again=False)
        if until.passed:  # httpx times each read alone: a dripping body would never end
            raise Failure("the answer did not end in time", landed=True)
        parts.append(part)
    return b"".join(parts)


def _error_message(data: bytes) -> str | None:
    """The message of ``{"error": "message"}`` or one of its common relatives, None where there is none."""
    try:
        said = _loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    for name in ("error", "message", "detail"):
        if isinstance(said, dict) and said.get(name):
            said = said[name]
    return said if isinstance(said, str) else json.dumps(said)


def _loads(data: bytes) -> JsonValue:
    """JSON from bytes; NaN and infinities, which are not JSON, are read as null."""
    value: JsonValue = json.loads(data, parse_constant=lambda _: None)
    return value


def _dumps(body: JsonValue, doing: str) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{doing}: the body is not JSON: {error}") from None


def is_loopback(host: str) -> bool:
    """True for hosts that only this machine can mean."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
