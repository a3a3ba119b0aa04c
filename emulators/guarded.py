"""The password in front of an emulator's control endpoints (``Authorization: Bearer PASSWORD``)."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from shared.errors import Refused

Handler = Callable[[Request], Awaitable[Response]]


def guarded(handler: Handler, password: str | None) -> Handler:
    """``handler`` for who knows the password; for everybody where there is none."""

    async def endpoint(request: Request) -> Response:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if password and not hmac.compare_digest(given.encode(), password.encode()):
            raise Refused("the emulator's password is needed", status=401)
        return await handler(request)

    return endpoint
