"""Counting tokens, roughly and always alike, with a cache for prompts that begin the same.

Four bytes are a token, an image is a thousand. As with real endpoints, a prompt's beginning that was sent
before is cheap: from 1024 tokens on, in steps of 128.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

_BYTES, _IMAGE = 4, 1000
_LEAST, _STEP = 1024, 128
_MOST_KEPT = 50_000


@dataclass(frozen=True)
class Tokens:
    """Of one call; ``cached`` are among ``read``."""

    read: int
    cached: int
    written: int


class Counter:
    """Counts, and remembers the beginnings that each key has sent."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def count(self, key: str, prompt: str, images: int, answer: str) -> Tokens:
        """The tokens of one call.

        Args:
            key: whose prompt it is; keys do not share a cache.
            prompt: all texts of the request, in order.
        """
        data = prompt.encode(errors="replace")
        read = -(-len(data) // _BYTES) + images * _IMAGE
        return Tokens(read, self._cached(key, data), -(-len(answer.encode(errors="replace")) // _BYTES))

    def _cached(self, key: str, data: bytes) -> int:
        cached = 0
        digest = hashlib.blake2b(key.encode(), digest_size=16)
        for number in range(_STEP, len(data) // _BYTES + 1, _STEP):
            digest.update(data[(number - _STEP) * _BYTES : number * _BYTES])
            beginning = digest.digest()
            if beginning in self._seen and number >= _LEAST:
                cached = number
            self._seen[beginning] = None
            self._seen.move_to_end(beginning)
        while len(self._seen) > _MOST_KEPT:
            self._seen.popitem(last=False)
        return cached
