"""Documents parsed once in the whole pool: kept under sha256, format and parser version.

A process keeps what it used last; Redis holds all of it for every machine, with a TTL; of those that want
the same document at the same time, one parses it and the others wait. What cannot be read is remembered
too, for a shorter time: the reason may have been a slow moment.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import redis
import structlog
from redis.exceptions import OutOfMemoryError

from shared.deadline import Deadline
from shared.documents import codec
from shared.documents.document import Document
from shared.documents.registry import PARSER_VERSION, format_of
from shared.errors import Unreadable
from shared.pool import keys
from shared.pool.connection import Patient, connect
from shared.pool.flights import Flights
from shared.pool.pool import Pool

UNREADABLE_SECONDS = 600.0
"""How long it is remembered that a document cannot be read, at most."""
LOCAL_BYTES = 4 * 2**20
"""Documents kept in this process, by their stored size; decoded they take some thirty times that."""

log = structlog.get_logger(__name__)


class Parser(Protocol):
    """Turns bytes into a document, within bounds of time and memory (``sandbox.Parsers``)."""

    def parse(self, data: bytes, name: str) -> Document:
        """Raises Unreadable where nothing can be read."""
        ...


class ParseCache:
    """Parsed documents by content. For several threads; opens nothing before first use.

    Args:
        cache: a client that gives bytes.
        flights: of the pool.
        parser: parses what nobody has parsed yet.
        ttl: seconds that a document stays in Redis.
    """

    def __init__(
        self,
        cache: redis.Redis,
        flights: Flights,
        parser: Parser,
        *,
        ttl: float,
        local_bytes: int = LOCAL_BYTES,
    ) -> None:
        self._patient = Patient(cache)
        self._flights = flights
        self._parser = parser
        self._ttl = ttl
        self._local = _Local(local_bytes)

    @classmethod
    def over(cls, pool: Pool, parser: Parser) -> ParseCache:
        """The cache of a pool, on its cache server."""
        settings = pool.settings
        url = settings.cache_url or settings.redis_url
        assert url is not None, "a pool has a Redis"
        return cls(connect(url, decode=False), pool.flights, parser, ttl=settings.blob_ttl)

    def get(self, sha: str, name: str, load: Callable[[], bytes], deadline: Deadline) -> Document:
        """The document of a file.

        Args:
            sha: sha256 of its bytes.
            name: its path; only the extension matters.
            load: gives the bytes; called where nobody has parsed them yet.

        Returns:
            The document; one with ``unreadable`` where it cannot be read.

        Raises:
            DeadlinePassed: somebody else still parses it.
            Unavailable: Redis or whatever ``load`` asks does not answer.
        """
        version = _version(name)
        kept = self._local.get((version, sha))
        if kept is not None:
            return kept
        return self._flights.fly(
            f"parse:{version}:{sha}",
            lambda: self._parse(version, sha, name, load),
            lambda: self._stored(version, [sha], deadline).get(sha),
            deadline,
        )

    def warm(self, names: Mapping[str, str], deadline: Deadline) -> None:
        """Bring the documents that Redis has into this process, in one round trip.

        Args:
            names: sha256 → path.
        """
        by_version: dict[str, list[str]] = {}
        for sha, name in names.items():
            version = _version(name)
            if self._local.get((version, sha)) is None:
                by_version.setdefault(version, []).append(sha)
        for version, shas in by_version.items():
            self._stored(version, shas, deadline)

    def _stored(self, version: str, shas: list[str], deadline: Deadline) -> dict[str, Document]:
        names = [keys.parsed(version, sha) for sha in shas]
        found: dict[str, Document] = {}
        stored: list[Any] = self._patient.do(lambda client: client.mget(names), deadline=deadline)
        for sha, data in zip(shas, stored, strict=True):
            if data is None:
                continue
            try:
                found[sha] = codec.load(data)
            except ValueError as error:
                log.warning("parse_cache.damaged", sha=sha, version=version, reason=str(error))
                continue
            self._local.keep((version, sha), found[sha], len(data))
        return found

    def _parse(self, version: str, sha: str, name: str, load: Callable[[], bytes]) -> Document:
        ttl = self._ttl
        try:
            document = self._parser.parse(load(), name)
        except Unreadable as error:
            document = Document(format_of(name), unreadable=error.reason)
        if document.unreadable is not None:
            ttl = min(ttl, UNREADABLE_SECONDS)
            log.info("parse_cache.unreadable", sha=sha, name=name, reason=document.unreadable)
        data = codec.dump(document)
        try:
            self._patient.do(
                lambda client: client.set(keys.parsed(version, sha), data, px=int(ttl * 1000)),
                raising=(OutOfMemoryError,),
            )
        except OutOfMemoryError:
            log.warning("parse_cache.kept_here_only", sha=sha, bytes=len(data))
        self._local.keep((version, sha), document, len(data))
        return document


def _version(name: str) -> str:
    return f"{PARSER_VERSION}.{format_of(name)}"


class _Local:
    """The documents used last, up to a number of stored bytes. Unreadable ones are not kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, str], tuple[Document, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, str]) -> Document | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: tuple[str, str], document: Document, size: int) -> None:
        if document.unreadable is not None:
            return
        with self._lock:
            if key not in self._kept:
                self._bytes += size
                self._kept[key] = (document, size)
            while self._bytes > self._most and len(self._kept) > 1:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._bytes -= oldest
