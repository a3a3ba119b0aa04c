"""An arena that repeats the caller's key wherever it can, and a model's endpoint that does the same.

Stands in front of the emulator: the submission of ``t03`` is refused, the tool ``write`` fails, and each
model call is refused, all with the request's own Authorization header in the message.
"""

from __future__ import annotations

import json

from starlette.types import ASGIApp, Receive, Scope, Send


class Echoing:
    """The ASGI application. ``told`` counts the answers that held a key.

    Args:
        app: answers everything else.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.told = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        key = dict(scope.get("headers", ())).get(b"authorization", b"").decode()
        if path.endswith("/t03/submit"):
            await self._answer(send, 400, {"error": f"not with {key}"})
        elif path.endswith("/tools/write"):
            await self._answer(send, 200, {"ok": False, "error": f"not with {key}"})
        elif path.endswith("/chat/completions"):
            await self._answer(send, 400, {"error": {"message": f"not with {key}", "code": 400}})
        elif path == "/model/models":
            await self._answer(send, 404, {"error": f"not with {key}"})
        else:
            await self._app(scope, receive, send)

    async def _answer(self, send: Send, status: int, body: object) -> None:
        self.told += 1
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})
