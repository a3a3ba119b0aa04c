"""One origin, and the key that is for it alone.

One ``httpx.Client`` per process, made at first use and never shared over a fork. The key goes to the
configured origin and nowhere else: other hosts are not even asked, whatever a redirect says. What comes back
is bounded in size and time, and an answer that repeats the key is kept without it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from importlib.metadata import version
from ipaddress import ip_address

import httpx

from shared.deadline import Deadline
from shared.errors import SettingsError, Unavailable
from shared.platforms.answer import printable
from shared.platforms.retry import Failure

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 4.0
"""Idle connections are closed before common servers do it (5 s): a request sent into a connection that is
just being closed has an unclear fate."""

REDIRECTS = {301, 302, 303, 307, 308}
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


class Redirected(Unavailable):
    """Sent to a place that gets no request: a gateway in a bad hour, or a wrong URL. Nothing was carried out.

    Args:
        status: the HTTP status.
    """

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class Origin:
    """Where a platform answers, and a client for it.

    Args:
        url: base URL, without a slash at its end; may have a path.
        name: of the platform, for messages.
        headers: gives the headers that carry the key; called when the client is made, may raise
            SettingsError.
        connections: requests at a time in this process (threads that may ask at once).
        timeout: seconds until an unanswered request counts as failed.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        headers: Callable[[], Mapping[str, str]],
        connections: int,
        timeout: float,
    ) -> None:
        self.url = url
        self.name = name
        self._headers = headers
        self._connections = connections
        self._timeout = timeout
        self._clients: dict[int, httpx.Client] = {}
        self._making: dict[int, threading.Lock] = {}

    def __str__(self) -> str:
        return f"{self.name} at {self.url}"

    def ready(self) -> None:
        """Make the client, where this process has none yet.

        That takes long (it reads all certificates): whoever books a request for a moment does it before.
        """
        self._client()

    def exchange(
        self, method: str, url: httpx.URL, content: bytes | None, deadline: Deadline, limit: int
    ) -> tuple[int, Mapping[str, str], bytes]:
        """One request and its whole answer: status, headers (names in lower case) and body.

        Args:
            limit: bytes of the body that are read at most.

        Raises:
            Failure: the transport failed, or the answer was too long.
        """
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
                self.clean(words),
                landed=not isinstance(error, _NOT_SENT),
                again="CERTIFICATE_VERIFY_FAILED" not in words,
            ) from None  # the error holds the request, and that the key

    def redirected(
        self, doing: str, method: str, url: httpx.URL, status: int, headers: Mapping[str, str]
    ) -> httpx.URL:
        """Where a redirect leads. Raises Redirected unless that is here and the request stays what it is."""
        try:
            target = url.join(headers.get("location", ""))
        except httpx.InvalidURL:
            target = httpx.URL()
        if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
            elsewhere = self.clean(f"{target.scheme}://{target.host}")
            raise Redirected(
                f"{doing}: redirected to {elsewhere}, which gets no request: the key is for {self.url} "
                "alone. If that is the platform's new address, set its URL",
                status=status,
            )
        if method != "GET" and status not in {307, 308}:
            words = f"{doing}: redirected by HTTP {status}, which would drop its body"
            raise Redirected(words, status=status)
        return target

    def clean(self, text: str) -> str:
        """Words from outside, fit for a message: one line, bounded, without keys."""
        return printable(self.without_key(text.encode(errors="replace")).decode())

    def without_key(self, data: bytes) -> bytes:
        """An answer that repeats our key (in a tool's error, in feedback) would be kept as it is."""
        for value in self._headers().values():
            for word in value.split():
                if len(word) >= 8:
                    data = data.replace(word.encode(), b"[key]")
        return data

    def close(self) -> None:
        """Close this process's connections. A later request opens new ones."""
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()

    def _client(self) -> httpx.Client:
        pid = os.getpid()
        client = self._clients.get(pid)
        if client is None:
            with self._making.setdefault(pid, threading.Lock()):  # one per process: it may have forked
                client = self._clients.get(pid)
                if client is None:
                    client = self._clients[pid] = self._make_client()
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
            trust_env=not is_loopback(httpx.URL(self.url).host),  # a proxy cannot reach our loopback
            limits=httpx.Limits(
                max_connections=self._connections,
                max_keepalive_connections=self._connections,
                keepalive_expiry=IDLE_SECONDS,
            ),
        )


def is_loopback(host: str) -> bool:
    """True for hosts that only this machine can mean."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
