"""Hears of a bucket's pauses while its callers sleep.

A caller that has booked sleeps until its turn; a pause that begins meanwhile voids the booking. To ask Redis
at every awakening would double its calls, so each process subscribes once and callers compare two numbers.
Where the subscription has a gap, they are told so and ask Redis.
"""

from __future__ import annotations

import threading

import redis
import structlog
from redis.exceptions import RedisError

_SUBSCRIBE_SECONDS = 1.0
_AGAIN_SECONDS = 0.5

log = structlog.get_logger(__name__)


class Pauses:
    """One subscription, in a thread of its own, for one bucket of one process.

    Args:
        client: where to subscribe; its connection pool is used.
        channel: where the bucket's script publishes.
    """

    def __init__(self, client: redis.Redis, channel: str) -> None:
        self._client = client
        self._channel = channel
        self._heard = 0
        self._subscribed = threading.Event()
        self._closed = threading.Event()
        threading.Thread(target=self._listen, name="bucket-pauses", daemon=True).start()
        self._subscribed.wait(_SUBSCRIBE_SECONDS)

    def mark(self) -> int | None:
        """A mark of the present, for ``nothing_since``; None while not subscribed."""
        return self._heard if self._subscribed.is_set() else None

    def nothing_since(self, mark: int | None) -> bool:
        """True if for certain no pause began since ``mark``."""
        return mark is not None and mark == self.mark()

    def close(self) -> None:
        """End the subscription, within a second."""
        self._closed.set()

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                with self._client.pubsub() as subscription:  # type: ignore[no-untyped-call]
                    subscription.subscribe(self._channel)
                    while not self._closed.is_set():
                        # redis-py subscribes again by itself; that too is a message, and counts as a gap
                        if subscription.get_message(timeout=1.0) is not None:
                            self._heard += 1
                            self._subscribed.set()
            except (RedisError, OSError, ValueError) as error:  # the latter two: closed while it was read
                if self._closed.is_set():
                    return
                self._subscribed.clear()
                self._heard += 1
                log.info("bucket.pauses_unheard", reason=str(error))
                self._closed.wait(_AGAIN_SECONDS)
