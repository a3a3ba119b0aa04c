"""Plain-text files as lines: what ``read``, ``search`` and the logs are made of."""

from __future__ import annotations

from functools import lru_cache

from shared.documents import encoding


@lru_cache(maxsize=64)
def lines_of(data: bytes) -> tuple[str, ...]:
    """The lines of a file without their ends, kept for files that are looked at again."""
    return tuple(encoding.lines(encoding.decode(data).text))
