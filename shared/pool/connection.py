"""Connections to Redis, and the one place that decides what to do when Redis does not answer.

``connect`` sets explicitly what redis-py chooses by itself, differently from version to version: time-outs,
protocol, size of the connection pool, and no retries of its own. Retrying is done by ``Patient`` alone.

A try that failed may have reached Redis before the connection broke. So everything that goes through
``Patient``, every Lua script above all, must be safe to repeat.

``sentinel://`` and ``amqp://`` are for the broker (Celery knows them); the pool's own data needs a
``redis://`` or ``rediss://`` URL.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import redis
import structlog
from redis import exceptions as redis_errors
from redis.backoff import NoBackoff
from redis.retry import Retry

from shared.deadline import Deadline
from shared.errors import SettingsError, Unavailable
from shared.pool import scripts

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds that a call without a deadline waits for Redis."""

ANSWER_SECONDS = 5.0
"""Seconds until a command without an answer counts as failed."""

MOST_CONNECTIONS = 16
"""Connections of a client, for however many threads. A command holds one for less than a millisecond; threads
that each opened their own would keep as many as ever worked at one moment."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"
"""In the words of a TLS error that every later try would meet again."""

_PASSING = (
    "LOADING",
    "BUSY ",
    "READONLY",
    "OOM",
    "MISCONF",
    "MASTERDOWN",
    "NOREPLICAS",
    "TRYAGAIN",
    "CLUSTERDOWN",
)
"""Beginnings of error replies that pass by themselves or once an operator has made room."""

log = structlog.get_logger(__name__)


def connect(url: str, *, decode: bool = True) -> redis.Redis:
    """A client for ``url``. Opens nothing before its first command, and may be used after a fork.

    Args:
        url: ``redis://`` or ``rediss://``, with password and database where needed.
        decode: replies as str; False gives bytes (blobs).

    Raises:
        SettingsError: the URL cannot be used; the message never shows its password.
    """
    scheme = url.partition("://")[0]
    if scheme not in {"redis", "rediss"}:
        raise SettingsError(f"the pool's Redis needs a redis:// or rediss:// URL, got {scheme[:20]!r}")
    try:
        return redis.Redis.from_pool(
            redis.BlockingConnectionPool.from_url(
                url,
                max_connections=MOST_CONNECTIONS,
                timeout=ANSWER_SECONDS,
                protocol=2,  # the same replies from every server since Redis 6
                decode_responses=decode,
                socket_timeout=ANSWER_SECONDS,
                socket_connect_timeout=ANSWER_SECONDS,
                socket_keepalive=True,
                health_check_interval=30,
                retry=Retry(NoBackoff(), 0),
            )
        )
    except ValueError as error:
        raise SettingsError(f"the Redis URL for {address(url)} cannot be used: {error}") from None


def untrusted(server: str) -> str:
    """What to say of a server whose certificate is not trusted."""
    return (
        f"the certificate of {server} is not trusted for this host: name its authority in the URL "
        "(?ssl_ca_certs=/path/ca.pem) and use the host name that the certificate is for"
    )


def address(url: str) -> str:
    """Host and port of a URL, for messages: no user, no password."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname or 'localhost'}:{parts.port or 6379}"
    except ValueError:
        return "an unreadable address"


class Script(Protocol):
    """A Lua script that is ready to be called."""

    def __call__(
        self,
        keys: Sequence[str] = (),
        args: Sequence[str | bytes | int | float] = (),
        *,
        deadline: Deadline | None = None,
        raising: tuple[type[Exception], ...] = (),
    ) -> Any: ...


class Patient:
    """A Redis client that waits while Redis is away, up to a deadline, and never goes on without it.

    Args:
        client: from ``connect``.
        sleep: how to wait between two tries; tests inject their own.
        chance: source of the jitter.
    """

    def __init__(
        self,
        client: redis.Redis,
        *,
        sleep: Callable[[float], None] = time.sleep,
        chance: random.Random | None = None,
    ) -> None:
        self.client = client
        self._sleep = sleep
        self._chance = chance or random.Random()  # noqa: S311 - jitter, no secret

    def script(self, name: str) -> Script:
        """The Lua script ``name`` (see ``shared.pool.scripts``), ready to be called."""
        registered = self.client.register_script(scripts.source(name))

        def call(
            keys: Sequence[str] = (),
            args: Sequence[str | bytes | int | float] = (),
            *,
            deadline: Deadline | None = None,
            raising: tuple[type[Exception], ...] = (),
        ) -> Any:
            return self.do(
                lambda client: registered(keys=list(keys), args=list(args), client=client),
                deadline=deadline,
                raising=raising,
            )

        return call

    def do(
        self,
        action: Callable[[redis.Redis], T],
        *,
        deadline: Deadline | None = None,
        raising: tuple[type[Exception], ...] = (),
    ) -> T:
        """Run ``action(client)``, again and again while Redis is away.

        Args:
            action: any commands; safe to repeat.
            deadline: when to give up, after at least one try; None waits ``PATIENCE`` seconds.
            raising: Redis errors that the caller wants to see at once.

        Raises:
            Unavailable: Redis did not answer, or could not serve, until the deadline.
            SettingsError: Redis refuses the user or the password, or shows a certificate that is not trusted.
        """
        deadline = deadline or Deadline.after(PATIENCE)
        pause = _FIRST_PAUSE
        told = False
        while True:
            try:
                return action(self.client)
            except raising:
                raise
            except (redis_errors.AuthenticationError, redis_errors.NoPermissionError) as error:
                raise SettingsError(
                    f"Redis at {self.address} refuses access ({error}): check user and password"
                ) from None
            except redis_errors.RedisError as error:
                if UNTRUSTED in str(error):
                    raise SettingsError(untrusted(f"Redis at {self.address}")) from None
                if not _passes(error):
                    raise
                reason = str(error)
            if not told:
                log.warning("redis.away", redis=self.address, reason=reason)
                told = True
            left = deadline.left()
            if left <= 0:
                raise Unavailable(f"Redis at {self.address} cannot serve: {reason}")
            self._sleep(min(left, pause * self._chance.uniform(0.5, 1.0)))
            pause = min(_LONGEST_PAUSE, pause * 2)

    def now(self) -> float:
        """Redis's clock, seconds since the epoch: the one clock that all machines of a pool share."""
        seconds, micros = self.do(lambda client: client.time())
        return float(seconds) + float(micros) / 1e6

    @property
    def address(self) -> str:
        """Host and port, for messages."""
        known = self.client.connection_pool.connection_kwargs
        return f"{known.get('host', 'localhost')}:{known.get('port', 6379)}"


def _passes(error: redis_errors.RedisError) -> bool:
    """True for errors that a later try may not meet."""
    if isinstance(error, redis_errors.ConnectionError | redis_errors.TimeoutError):
        return True  # BusyLoadingError is one of them
    passing = (
        redis_errors.OutOfMemoryError,
        redis_errors.ReadOnlyError,
        redis_errors.TryAgainError,
        redis_errors.ClusterDownError,
    )
    return isinstance(error, passing) or str(error).startswith(_PASSING)
