"""Control endpoints under ``/_emulator``: what a test or a person does to the emulator, beside the API.

They take no team's key and no tokens. With a password they want ``Authorization: Bearer PASSWORD``.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulators.arena import wire
from emulators.arena.api import read_body
from emulators.arena.arena import Arena
from emulators.arena.replies import Replies
from shared.errors import Refused

PREFIX = "/_emulator"


class Control:
    """Handlers over an arena."""

    def __init__(self, arena: Arena, replies: Replies) -> None:
        self._arena = arena
        self._replies = replies

    def routes(self) -> list[Route]:
        table: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
            ("GET", "/books", self.books),
            ("POST", "/spend", self.spend),
            ("POST", "/clock", self.clock),
            ("POST", "/publish", self.publish),
            ("POST", "/teams/{team_id}/revoke", self.revoke),
        ]
        return [
            Route(PREFIX + path, self._guarded(handler), methods=[method]) for method, path, handler in table
        ]

    def _guarded(
        self, handler: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            password = self._arena.options.password
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            if password and not hmac.compare_digest(given.encode(), password.encode()):
                raise Refused("the emulator's password is needed", status=401)
            return await handler(request)

        return endpoint

    async def books(self, _request: Request) -> Response:
        """The books so far."""
        return self._replies.plain(self._arena.report())

    async def spend(self, request: Request) -> Response:
        """A team's model key spent something (a stand-in model says so)."""
        body = wire.parse_body(wire.SpendBody, wire.parse_json(await read_body(request)))
        self._arena.costs.spend(self._arena.teams.get(body.team).team_id, body.kind, body.usd)
        return self._replies.plain({"ok": True})

    async def clock(self, request: Request) -> Response:
        """Time passes at once."""
        body = wire.parse_body(wire.ClockBody, wire.parse_json(await read_body(request)))
        self._arena.clock.advance(body.advance)
        return self._replies.plain({"ok": True})

    async def publish(self, _request: Request) -> Response:
        """The organisers publish the final runs' results."""
        self._arena.runs.publish()
        return self._replies.plain({"ok": True})

    async def revoke(self, request: Request) -> Response:
        """A team's platform key is revoked."""
        self._arena.teams.get(request.path_params["team_id"]).revoked = True
        return self._replies.plain({"ok": True})
