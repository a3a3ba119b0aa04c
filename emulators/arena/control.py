"""Control endpoints under ``/_emulator``: what a test or a person does to the emulator, beside the API.

They take no team's key and no tokens. With a password they want ``Authorization: Bearer PASSWORD``.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulators.arena import wire
from emulators.arena.api import read_body
from emulators.arena.arena import Arena
from emulators.arena.replies import Replies
from emulators.guarded import Handler, guarded

PREFIX = "/_emulator"


class Control:
    """Handlers over an arena."""

    def __init__(self, arena: Arena, replies: Replies) -> None:
        self._arena = arena
        self._replies = replies

    def routes(self) -> list[Route]:
        table: list[tuple[str, str, Handler]] = [
            ("GET", "/books", self.books),
            ("GET", "/scenarios", self.scenarios),
            ("POST", "/spend", self.spend),
            ("POST", "/clock", self.clock),
            ("POST", "/publish", self.publish),
            ("POST", "/teams/{team_id}/revoke", self.revoke),
        ]
        password = self._arena.options.password
        return [
            Route(PREFIX + path, guarded(handler, password), methods=[method])
            for method, path, handler in table
        ]

    async def books(self, _request: Request) -> Response:
        """The books so far."""
        return self._replies.plain(self._arena.report())

    async def scenarios(self, _request: Request) -> Response:
        """The scenarios of all runs, oldest first: what a stand-in model must know to answer."""
        rows = [
            {"run_id": run.run_id, "theme": run.key[0], "seed": run.key[1], "variation": run.key[2]}
            for run in self._arena.runs.all()
        ]
        return self._replies.plain({"scenarios": rows})

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
