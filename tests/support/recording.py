"""A server in front of a model's endpoint that keeps every request as it was sent."""

from __future__ import annotations

import json
import os
from typing import Self

import httpx
from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulators.server import ThreadedServer

FIRST_DIFFERENCE = b'"# Task\\n\\n'
"""Where the prompts of two tasks may begin to differ, in the bytes of a request."""


class Recording:
    """Passes requests on to ``url``, and keeps their bodies in the order of arrival."""

    def __init__(self, url: str) -> None:
        self.bodies: list[bytes] = []
        self._behind = url
        self._client = httpx.Client(trust_env=False, timeout=60)
        self._server = ThreadedServer(
            Starlette(routes=[Route("/{path:path}", self._pass_on, methods=["GET", "POST"])])
        )
        self.url = self._server.url

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.__exit__(*error)
        self._client.close()

    def first_plans(self) -> list[bytes]:
        """The requests that ask for a plan for the first time, one per task."""
        return [body for body in self.bodies if _roles(body) == ["system", "user"]]

    def common(self) -> bytes:
        """The bytes with which all of these begin."""
        return os.path.commonprefix(self.first_plans())  # noqa: RUF071 - no paths: byte by byte is meant

    async def _pass_on(self, request: Request) -> Response:
        body = await request.body()
        if request.method == "POST":
            self.bodies.append(body)
        headers = {"authorization": request.headers["authorization"], "content-type": "application/json"}
        url = f"{self._behind}{request.url.path}"
        answer = await to_thread.run_sync(
            lambda: self._client.request(request.method, url, content=body, headers=headers)
        )
        return Response(answer.content, answer.status_code, media_type="application/json")


def _roles(body: bytes) -> list[str]:
    return [message["role"] for message in json.loads(body)["messages"]]
