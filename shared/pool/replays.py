"""Answers of a model, kept to replay identical calls at no cost while somebody works on a harness.

A cache like the blobs: with a TTL, and free to lose anything at any time. Only usable answers are kept.
"""

from __future__ import annotations

import hashlib
from typing import Any

import redis
import structlog

from shared.deadline import Deadline
from shared.errors import Unavailable
from shared.pool import keys
from shared.pool.connection import Patient

_SECONDS = 5.0

log = structlog.get_logger(__name__)


class Replays:
    """Answers by the hash of the whole request.

    Args:
        cache: a client that gives bytes.
        ttl: seconds that an answer stays after its last use.
    """

    def __init__(self, cache: redis.Redis, ttl: float) -> None:
        self._patient = Patient(cache)
        self._ttl = int(ttl)

    def get(self, request: bytes) -> bytes | None:
        """The answer to an identical request. A cache that is away has none."""
        name = _name(request)
        try:
            answer: Any = self._patient.do(
                lambda client: client.getex(name, ex=self._ttl), deadline=Deadline.after(_SECONDS)
            )
        except Unavailable as error:
            log.warning("replays.away", reason=str(error))
            return None
        return None if answer is None else bytes(answer)

    def put(self, request: bytes, answer: bytes) -> None:
        """Keep an answer. A cache that is away or full keeps nothing."""
        name = _name(request)
        try:
            self._patient.do(
                lambda client: client.set(name, answer, ex=self._ttl), deadline=Deadline.after(_SECONDS)
            )
        except Unavailable as error:
            log.warning("replays.not_kept", reason=str(error))


def _name(request: bytes) -> str:
    return keys.replay(hashlib.sha256(request).hexdigest())
