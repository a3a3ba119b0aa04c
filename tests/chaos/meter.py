"""A chat model that says nothing and writes down what it bills: the other side of the ledger's costs."""

from __future__ import annotations

from collections import Counter
from typing import Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from emulators.server import ThreadedServer


class Meter:
    """The endpoint, in a thread of this process.

    Attributes:
        billed: micro-dollars by run id.
        down: answers 503 while set.
    """

    def __init__(self) -> None:
        self.billed: Counter[str] = Counter()
        self.down = False
        self._calls = 0
        app = Starlette(routes=[Route("/v1/chat/completions", self._answer, methods=["POST"])])
        self._server = ThreadedServer(app)
        self.url = f"{self._server.url}/v1"

    async def _answer(self, request: Request) -> Response:
        body = await request.json()
        if self.down:
            return JSONResponse({"error": {"code": 503, "message": "down"}}, 503)
        self._calls += 1
        micros = 100 + self._calls % 97
        self.billed[body["messages"][0]["content"].split()[0]] += micros
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "cost": micros / 1e6}
        message = {"role": "assistant", "content": "noted"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return JSONResponse({"id": f"call-{self._calls}", "choices": [choice], "usage": usage})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()
