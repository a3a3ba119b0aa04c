"""The scenarios in use: built off the event loop, once for all who ask, the least used ones let go."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from emulators.arena.scenario import Scenario

Key = tuple[str, int, int]
"""Theme, seed, variation."""

Build = Callable[[str, int, int], Scenario]

_MOST_KEPT = 16


class Scenarios:
    """A cache of scenarios by theme, seed and variation; each builds again, byte for byte, when needed."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self._kept: OrderedDict[Key, asyncio.Future[Scenario]] = OrderedDict()

    async def get(self, key: Key) -> Scenario:
        """The scenario of a key. Building takes up to a second; other requests go on meanwhile."""
        future = self._kept.get(key)
        if future is None:
            future = asyncio.ensure_future(asyncio.to_thread(self._build, *key))
            self._kept[key] = future
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        try:
            return await asyncio.shield(future)
        except Exception:
            if self._kept.get(key) is future:
                del self._kept[key]
            raise
