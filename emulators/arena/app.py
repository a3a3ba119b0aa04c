"""The arena as an ASGI application.

From the outside in: the server's Date, the books, the faults, then Starlette with the API, the control
endpoints and the emulator's own OpenAPI document.
"""

from __future__ import annotations

import socket
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from emulators.arena.api import PREFIX, Api
from emulators.arena.arena import Arena
from emulators.arena.control import Control
from emulators.arena.openapi import document
from emulators.arena.options import ArenaOptions
from emulators.arena.replies import Replies
from emulators.arena.scenarios import Build
from emulators.books import BookKeeping
from emulators.clock import Clock
from emulators.dated import Dated
from emulators.fault_layer import FaultLayer
from emulators.server import listen, origin
from shared.errors import Refused


def create_app(options: ArenaOptions, *, build: Build | None = None, clock: Clock | None = None) -> ArenaApp:
    """An arena emulator.

    Args:
        build: makes scenarios; the default builds the emulator's own.
        clock: the default is this machine's, ahead by the chosen skew.

    Raises:
        SettingsError: the file of faults is wrong.
    """
    if build is None:
        from emulators.arena.scenario import build as build_scenario

        build = build_scenario
    return ArenaApp(Arena(options, build, clock or Clock(options.choices.clock_skew)))


def open_arena(options: ArenaOptions) -> tuple[ArenaApp, socket.socket, dict[str, Any]]:
    """An application, the socket that it shall listen on, and what its clients must know.

    Returns:
        The last part holds ``origin``, ``url`` (the API's base) and ``keys`` (one per team).

    Raises:
        SettingsError: the address cannot be used, or the file of faults is wrong.
    """
    from emulators.arena.building import Builder

    app = create_app(options, build=Builder().build)
    listening = listen(options.host, options.port)
    address = origin(listening)
    keys = [team.key for team in app.arena.teams.all()]
    return app, listening, {"origin": address, "url": address + PREFIX, "keys": keys}


class ArenaApp:
    """The application. ``arena`` gives tests and the command a look at its parts."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        replies = Replies(arena.options.choices, arena.clock)
        self.routes = [*Api(arena, replies).routes(), *Control(arena, replies).routes()]

        async def describe(_: Request) -> Response:
            return replies.plain(document(PREFIX))

        self.routes.append(Route("/openapi.json", describe))

        async def refuse(_: Request, error: Exception) -> Response:
            assert isinstance(error, Refused)
            return replies.error(str(error), error.status or 400)

        async def no_endpoint(request: Request, error: Exception) -> Response:
            assert isinstance(error, HTTPException)
            headers = {"allow": self._allowed(request.scope)} if error.status_code == 405 else None
            return replies.error(str(error.detail).lower(), error.status_code, headers)

        inner = Starlette(
            routes=self.routes,
            exception_handlers={Refused: refuse, HTTPException: no_endpoint},
        )
        inner.router.redirect_slashes = False
        app: ASGIApp = inner
        if arena.faults is not None:
            app = FaultLayer(
                app,
                plan=arena.faults,
                clock=arena.clock,
                account=self._account,
                struck=lambda account, fault: arena.books.account(account).count("faults", fault),
                actions={"deadline": self._move_deadline, "revoke": self._revoke},
            )
        app = BookKeeping(
            app, books=arena.books, account=self._account, endpoint=self._endpoint, clock=arena.clock
        )
        self._app = Dated(app, arena.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def _allowed(self, scope: Scope) -> str:
        """The methods of a path, which may be spread over several routes."""
        found: set[str] = set()
        for route in self.routes:
            if route.matches(scope)[0] is not Match.NONE:
                found |= route.methods or set()
        return ", ".join(sorted(found))

    def _account(self, scope: Scope) -> str | None:
        if not scope["path"].startswith(PREFIX):
            return None
        team = self.arena.teams.of(scope)
        return team.team_id if team else "nobody"

    def _move_deadline(self, scope: Scope, seconds: float) -> None:
        run = self.arena.runs.find(scope["path"].removeprefix(f"{PREFIX}/runs/").partition("/")[0])
        if run is not None:
            self.arena.runs.move_deadline(run, seconds)

    def _revoke(self, scope: Scope, _: float) -> None:
        team = self.arena.teams.of(scope)
        if team is not None:
            team.revoked = True

    def _endpoint(self, scope: Scope) -> str:
        """``GET /runs/{run_id}``; requests that a fault answered never came to the router."""
        route = scope.get("route")
        if route is None:
            route = next((route for route in self.routes if route.matches(scope)[0] is Match.FULL), None)
        if not isinstance(route, Route):
            return "unknown"
        return f"{scope['method']} {route.path.removeprefix(PREFIX)}"
