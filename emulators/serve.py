"""Starting emulators from Python: for tests, benchmarks and the demo."""

from __future__ import annotations

from typing import Any, Self

import httpx

from emulators.arena.options import ArenaOptions
from emulators.server import ChildServer


class ArenaEmulator:
    """An arena emulator in a process of its own, which ends when this one does.

    Args:
        child: the process, greeted already.
    """

    def __init__(self, child: ChildServer, password: str | None) -> None:
        self._child = child
        self._control = httpx.Client(
            base_url=child.hello["origin"],
            headers={"authorization": f"Bearer {password}"} if password else {},
            timeout=30.0,
        )
        self.url: str = child.hello["url"]
        """The base URL, as SCRIMMAGE_ARENA_URL takes it."""
        self.keys: tuple[str, ...] = tuple(child.hello["keys"])
        """One key per team."""

    @classmethod
    def start(cls, options: ArenaOptions | None = None, **values: Any) -> ArenaEmulator:
        """Start an emulator and wait until it listens.

        Args:
            options: how; or, by name, the fields of ``ArenaOptions`` that differ from the defaults.

        Raises:
            UsageError: an option is wrong.
            SettingsError: the port is taken, or the file of faults is wrong.
        """
        options = options or ArenaOptions.of(values)
        child = ChildServer("emulators.arena", options.model_dump(mode="json"))
        return cls(child, options.password)

    @property
    def key(self) -> str:
        """The first team's key."""
        return self.keys[0]

    @property
    def pid(self) -> int:
        return self._child.pid

    def books(self) -> dict[str, Any]:
        """What clients did so far (`emulators.books`, and the runs that are still open)."""
        answer = self._control.get("/_emulator/books")
        answer.raise_for_status()
        books: dict[str, Any] = answer.json()
        return books

    def control(self, name: str, **body: Any) -> None:
        """Call a control endpoint: ``control("spend", team="team-1", usd=0.1)``, ``control("publish")``."""
        self._control.post(f"/_emulator/{name}", json=body).raise_for_status()

    def stop(self) -> None:
        """Stop it and wait for its end. May be called again."""
        self._control.close()
        self._child.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
