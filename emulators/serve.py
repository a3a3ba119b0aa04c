"""Starting emulators from Python: for tests, benchmarks and the demo."""

from __future__ import annotations

from typing import Any, Self

import httpx

from emulators.arena.options import ArenaOptions
from emulators.model.options import ModelOptions
from emulators.options import ServerOptions
from emulators.server import ChildServer


class _Emulator:
    """An emulator in a process of its own, which ends when this one does.

    Args:
        module: what to run.
        options: how.
    """

    def __init__(self, module: str, options: ServerOptions) -> None:
        self._child = ChildServer(module, options.model_dump(mode="json"))
        password = options.password
        self._control = httpx.Client(
            base_url=self._child.hello["origin"],
            headers={"authorization": f"Bearer {password}"} if password else {},
            timeout=30.0,
        )
        self.url: str = self._child.hello["url"]
        """The API's base URL, as the settings take it."""

    @property
    def pid(self) -> int:
        return self._child.pid

    def books(self) -> dict[str, Any]:
        """What clients did so far (`emulators.books`, and what the emulator adds)."""
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


class ArenaEmulator(_Emulator):
    """An arena emulator."""

    @classmethod
    def start(cls, options: ArenaOptions | None = None, **values: Any) -> ArenaEmulator:
        """Start an emulator and wait until it listens.

        Args:
            options: how; or, by name, the fields of ``ArenaOptions`` that differ from the defaults.

        Raises:
            UsageError: an option is wrong.
            SettingsError: the port is taken, or the file of faults is wrong.
        """
        return cls("emulators.arena", options or ArenaOptions.of(values))

    @property
    def keys(self) -> tuple[str, ...]:
        """One key per team."""
        return tuple(self._child.hello["keys"])

    @property
    def key(self) -> str:
        """The first team's key."""
        return self.keys[0]


class ModelEmulator(_Emulator):
    """A stand-in model."""

    @classmethod
    def start(cls, options: ModelOptions | None = None, **values: Any) -> ModelEmulator:
        """Start a stand-in and wait until it listens; arguments and errors as ``ArenaEmulator.start``."""
        return cls("emulators.model", options or ModelOptions.of(values))

    @property
    def model(self) -> str:
        """The name that it goes by, as SCRIMMAGE_MODEL takes it."""
        name: str = self._child.hello["model"]
        return name

    @property
    def key(self) -> str:
        """The first team's key for dev runs."""
        key: str = self._child.hello["keys"]["team-1 dev"]
        return key
