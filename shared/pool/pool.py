"""The pool: everything that producer and workers share, over one Redis."""

from __future__ import annotations

import threading
from types import TracebackType

from shared.errors import SettingsError
from shared.models import Limits
from shared.pool.blobs import Blobs
from shared.pool.bucket import Bucket
from shared.pool.connection import Patient, connect
from shared.pool.fleet import Fleet
from shared.pool.flights import Flights
from shared.pool.jobs import Jobs
from shared.pool.journal import Journal
from shared.pool.ledger import Ledger
from shared.pool.replays import Replays
from shared.pool.spend import Spend
from shared.pool.transcript import Transcripts
from shared.settings import Settings


class Pool:
    """The parts of one pool. Nothing is opened before first use, so it may be made before a fork.

    Args:
        settings: ``redis_url`` must be set.

    Raises:
        SettingsError: a Redis URL is missing or cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        if not settings.redis_url:
            raise SettingsError("no Redis: set SCRIMMAGE_REDIS_URL, or bring up a pool with `scrimmage up`")
        self.settings = settings
        self._client = connect(settings.redis_url)
        self._cache = connect(settings.cache_url or settings.redis_url, decode=False)
        self.redis = Patient(self._client)
        self.ledger = Ledger(self.redis)
        self.journal = Journal(self.redis)
        self.spend = Spend(self.redis)
        self.transcripts = Transcripts(self.redis)
        self.blobs = Blobs(self._cache, ttl=settings.blob_ttl, cap_bytes=settings.blob_cache_bytes)
        self.replays = Replays(self._cache, settings.blob_ttl)
        self.flights = Flights(self.redis)
        self.fleet = Fleet(self.redis)
        self.jobs = Jobs(settings)
        self._buckets: dict[str, Bucket] = {}
        self._adding = threading.Lock()

    @classmethod
    def connect(cls, settings: Settings) -> Pool:
        """The pool at ``settings.redis_url``."""
        return cls(settings)

    def bucket(self, name: str, limits: Limits) -> Bucket:
        """The bucket of one account, the same object every time.

        Args:
            name: platform and fingerprint of the key ("arena:1f3a9c02").
            limits: the platform's own; they count at the first call.
        """
        with self._adding:
            if name not in self._buckets:
                self._buckets[name] = Bucket(
                    self.redis,
                    name,
                    limits,
                    margin_tokens=self.settings.bucket_margin_tokens,
                    margin_rate=self.settings.bucket_margin_rate,
                )
            return self._buckets[name]

    def close(self) -> None:
        """Close this process's connections."""
        for bucket in self._buckets.values():
            bucket.close()
        self.jobs.close()
        self._client.close()
        self._cache.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
