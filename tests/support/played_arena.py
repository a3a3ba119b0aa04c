"""An arena emulator in a thread, and the pool's platform for it, for tests of the two together."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from emulators.arena.api import PREFIX
from emulators.arena.app import create_app
from emulators.arena.options import ArenaOptions
from emulators.arena.scenarios import Build
from emulators.server import ThreadedServer
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool.pool import Pool
from shared.settings import Settings
from tests.support.arena import tiny

Rule = dict[str, Any]


class PlayedArena:
    """Starts one emulator and any number of pools that play on it; all end together.

    Args:
        folder: for the file of faults.
        redis_url: of the pools.
    """

    def __init__(self, folder: Path, redis_url: str) -> None:
        self._folder = folder
        self._redis_url = redis_url
        self._ends = ExitStack()

    def start(
        self, rules: Iterable[Rule] = (), *, seed: int = 0, build: Build = tiny, **options: Any
    ) -> None:
        """Start the emulator, without its limiter unless ``limit`` is given. ``seed``: of the faults."""
        faults = self._folder / "faults.json"
        faults.write_text(json.dumps({"seed": seed, "rules": list(rules)}))
        values = {"limit": False, "faults": faults, **options}
        self.app = create_app(ArenaOptions.of(values), build=build)
        self._server = self._ends.enter_context(ThreadedServer(self.app))
        self.url = self._server.url + PREFIX

    def platform(self, *, sleep: Callable[[float], None] = time.sleep, **settings: Any) -> ArenaPlatform:
        """A platform over a pool of its own, as another process would have it."""
        self.pool = Pool.connect(
            Settings.load(
                redis_url=self._redis_url,
                arena_url=self.url,
                arena_key=self.app.arena.teams.get("team-1").key,
                threads=8,
                **settings,
            )
        )
        self._ends.enter_context(self.pool)
        platform = ArenaPlatform(self.pool.settings, self.pool, sleep=sleep)
        self._ends.callback(platform.close)
        return platform

    def books(self) -> dict[str, Any]:
        """What the first team's key did."""
        accounts = self.app.arena.report()["accounts"]
        page: dict[str, Any] = accounts.get("team-1", {"requests": 0})
        return page

    def stop(self) -> None:
        self._ends.close()
