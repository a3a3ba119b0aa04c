"""Emulators in a thread of this process: nothing is started, and a scenario is built once for all tests.

For tests of what talks to an emulator. Where its pace counts (the limiter, many requests at once) they start
one in a process of its own (`emulators.serve`): here whatever else computes holds its answers up.
"""

from __future__ import annotations

import ssl
from typing import Any, Self

import httpx
from starlette.types import ASGIApp

from emulators.arena.api import PREFIX as ARENA
from emulators.arena.app import create_app
from emulators.arena.options import ArenaOptions
from emulators.clock import Clock
from emulators.model.app import PREFIX as MODEL
from emulators.model.app import ModelApp
from emulators.model.options import MODEL as STAND_IN
from emulators.model.options import ModelOptions
from emulators.server import ThreadedServer
from tests.support.scenarios import build

_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class _Emulated:
    """What tests use of `emulators.serve.ArenaEmulator` and `ModelEmulator`."""

    def __init__(self, app: ASGIApp, prefix: str, key: str) -> None:
        self._server = ThreadedServer(app)
        self._control = httpx.Client(base_url=f"{self._server.url}/_emulator", timeout=30.0, verify=_NO_TLS)
        self.url = self._server.url + prefix
        self.key = key

    def books(self) -> dict[str, Any]:
        books: dict[str, Any] = self._control.get("/books").raise_for_status().json()
        return books

    def control(self, name: str, **body: Any) -> None:
        self._control.post(f"/{name}", json=body).raise_for_status()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._control.close()
        self._server.__exit__()


class ArenaHere(_Emulated):
    """An arena.

    Args:
        values: fields of `ArenaOptions` that differ from the defaults.
    """

    def __init__(self, **values: Any) -> None:
        app = create_app(ArenaOptions.of(values), build=build)
        super().__init__(app, ARENA, app.arena.teams.get("team-1").key)


class ModelHere(_Emulated):
    """A stand-in model.

    Args:
        values: fields of `ModelOptions` that differ from the defaults. ``arena_url`` is for a process of its
            own: nobody would close the connection to it.
    """

    model = STAND_IN

    def __init__(self, **values: Any) -> None:
        app = ModelApp(ModelOptions.of(values), build, Clock())
        super().__init__(app, MODEL, app.keys.all()[0].secret)
