"""The server's Date, written by the emulator's own clock."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulators.clock import Clock, http_date


class Dated:
    """Writes the emulator's time into ``Date``, where nobody has written another."""

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message["headers"]
                if not any(name == b"date" for name, _ in headers):
                    headers.append((b"date", http_date(self._clock.now()).encode()))
            await send(message)

        await self._app(scope, receive, dated)
