"""The blob cache: files by the sha256 of their bytes, fetched once in the whole pool.

Redis holds them for all machines, with a TTL and a cap on all together (the longest unused go first); in
front of it each process keeps the ones that it used last. Bytes are hashed when they are put and again when
they come from Redis: what does not match its name is dropped.

A cache may lose anything at any time. It never loses what a caller has in hand: if Redis cannot take a
blob, this process keeps it.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import redis
import structlog
from redis.exceptions import OutOfMemoryError

from shared.deadline import Deadline
from shared.errors import Unavailable
from shared.pool import keys
from shared.pool.connection import Patient

_PUT_SECONDS = 5.0

log = structlog.get_logger(__name__)


class Blobs:
    """Blobs by sha256 (64 hex digits). For several threads.

    Args:
        cache: a client that gives bytes (``connect(url, decode=False)``).
        ttl: seconds that an unused blob stays.
        cap_bytes: all blobs in Redis together.
        local_bytes: all blobs kept in this process together.
        clock: seconds, for the refreshing of what is used locally; tests inject their own.
    """

    def __init__(
        self,
        cache: redis.Redis,
        *,
        ttl: float,
        cap_bytes: int,
        local_bytes: int = 64 * 2**20,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._script = Patient(cache).script("blobs")
        self._ttl = ttl
        self._cap = cap_bytes
        self._local = _Local(local_bytes)
        self._clock = clock

    def get(self, sha: str) -> bytes | None:
        """The blob, or None where the cache has it no more. Raises Unavailable if Redis stays away."""
        kept = self._local.get(sha)
        if kept is not None:
            self._refresh(sha, kept)
            return kept.data
        try:
            data: bytes | None = self._call("get", [sha], raising=(OutOfMemoryError,))
        except OutOfMemoryError:
            data = None
        if data is None:
            return None
        if hashlib.sha256(data).hexdigest() != sha:
            log.error("blobs.corrupted", sha=sha, bytes=len(data))
            self._call("drop", [sha])
            return None
        self._local.keep(sha, data, self._clock())
        return data

    def put(self, data: bytes) -> str:
        """Store a blob and return its sha256. Does not fail where Redis is full or away: it is kept here."""
        sha = hashlib.sha256(data).hexdigest()
        self._local.keep(sha, data, self._clock())
        if len(data) > self._cap:
            log.warning("blobs.too_large", sha=sha, bytes=len(data), cap=self._cap)
            return sha
        try:
            self._call(
                "put",
                [sha],
                [data, self._cap, keys.blob("")],
                deadline=Deadline.after(_PUT_SECONDS),
                raising=(OutOfMemoryError,),
            )
        except (OutOfMemoryError, Unavailable) as error:
            log.warning("blobs.kept_here_only", sha=sha, bytes=len(data), reason=str(error))
        return sha

    def have(self, shas: Iterable[str]) -> set[str]:
        """Those of ``shas`` that ``get`` would find; one round trip. They count as used.

        Raises:
            Unavailable: Redis stays away.
        """
        asked = set(shas)
        found = {sha for sha in asked if self._local.get(sha) is not None}
        unknown = sorted(asked - found)
        if unknown:
            found |= self._touch(unknown)
        return found

    def _touch(self, shas: list[str]) -> set[str]:
        """Those that Redis has. Where its memory is used up and nothing can be evicted, it has no blobs."""
        try:
            there = self._call("have", shas, raising=(OutOfMemoryError,))
        except OutOfMemoryError:
            return set()
        return {sha for sha, yes in zip(shas, there, strict=True) if yes}

    def _refresh(self, sha: str, kept: _Kept) -> None:
        """Now and then tell Redis of a blob that is used here, so that it stays for the others."""
        now = self._clock()
        if now - kept.told > self._ttl / 4:
            self._local.keep(sha, kept.data, now)
            self._touch([sha])

    def _call(
        self,
        action: str,
        shas: list[str],
        more: list[bytes | int | str] | None = None,
        *,
        deadline: Deadline | None = None,
        raising: tuple[type[Exception], ...] = (),
    ) -> Any:
        return self._script(
            [keys.BLOBS, keys.BLOB_SIZES, *map(keys.blob, shas)],
            [action, int(self._ttl * 1000), *shas, *(more or ())],
            deadline=deadline,
            raising=raising,
        )


@dataclass(frozen=True)
class _Kept:
    """A blob in this process, and when Redis was last told of its use."""

    data: bytes
    told: float


class _Local:
    """The blobs used last, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, sha: str) -> _Kept | None:
        with self._lock:
            if sha in self._kept:
                self._kept.move_to_end(sha)
            return self._kept.get(sha)

    def keep(self, sha: str, data: bytes, told: float) -> None:
        with self._lock:
            if sha not in self._kept:
                self._bytes += len(data)
            self._kept[sha] = _Kept(data, told)
            self._kept.move_to_end(sha)
            while self._bytes > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= len(oldest.data)
