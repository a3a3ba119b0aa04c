"""How an ASGI application gets at the TCP connection under it, to break it on purpose.

uvicorn hides the transport; this protocol hands it on in the scope's extensions.
"""

from __future__ import annotations

import asyncio

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_EXTENSION = "scrimmage.transport"


class BreakableProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 protocol, with ``scope["extensions"]["scrimmage.transport"]``."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {_EXTENSION: self.transport}  # type: ignore[dict-item]


def transport_of(scope: Scope) -> asyncio.Transport:
    """The connection of a request.

    Raises:
        RuntimeError: the application runs under another server than `emulators.server` starts.
    """
    transport = scope.get("extensions", {}).get(_EXTENSION)
    if not isinstance(transport, asyncio.Transport):
        raise RuntimeError("this server gives no access to its connections: start it with emulators.server")
    return transport
