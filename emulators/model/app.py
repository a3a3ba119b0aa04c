"""The stand-in model as an ASGI application: OpenRouter's API, as far as a client of chat models needs it."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import socket
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from emulators.arena.scenarios import Build
from emulators.books import BookKeeping, Books
from emulators.clock import Clock, http_date
from emulators.dated import Dated
from emulators.fault_layer import FaultLayer
from emulators.faults import FaultFile, FaultPlan
from emulators.guarded import guarded
from emulators.model.conduct import Chance, Conduct
from emulators.model.keys import Key, Keys
from emulators.model.knowledge import Knowledge
from emulators.model.mind import Mind, Said
from emulators.model.options import MODEL, PROVIDER, ModelOptions
from emulators.model.request import ChatRequest
from emulators.model.tokens import Counter, Tokens
from emulators.server import listen, origin
from shared.errors import Refused

PREFIX = "/api/v1"
CONTROL = "/_emulator"

_MOST_BODY_BYTES = 32 * 2**20
_RATE, _BURST = 1000.0, 1000
"""The books measure peaks against a limit; a model's endpoint names none."""


class ModelApp:
    """The application.

    Args:
        options: how it was started.
        build: makes scenarios.
        clock: the emulator's.

    Raises:
        SettingsError: the file of faults is wrong.
    """

    def __init__(self, options: ModelOptions, build: Build, clock: Clock) -> None:
        self.options = options
        self.clock = clock
        self.keys = Keys(options)
        self.books = Books(_RATE, _BURST, clock)
        self.knowledge = Knowledge(options, build)
        self.mind = Mind(self.knowledge, Chance(options.seed), options.conduct)
        self._limits = Chance(options.seed)
        self._tokens = Counter()
        self._down_until = clock.ticks() + options.conduct.down
        self._app = self._layers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def report(self) -> dict[str, Any]:
        """The books, with what each key has used."""
        return {**self.books.report(), "keys": {key.name: key.report() for key in self.keys.all()}}

    def _layers(self) -> ASGIApp:
        password = self.options.password
        routes = [
            Route(f"{PREFIX}/chat/completions", self._chat, methods=["POST"]),
            Route(f"{PREFIX}/models", self._models),
            Route(f"{PREFIX}/key", self._key),
            Route(f"{CONTROL}/books", guarded(self._books, password)),
            Route(f"{CONTROL}/conduct", guarded(self._conduct, password), methods=["POST"]),
        ]

        async def refuse(_: Request, error: Exception) -> Response:
            assert isinstance(error, Refused)
            return _error(error.status or 400, str(error))

        async def no_endpoint(_: Request, error: Exception) -> Response:
            assert isinstance(error, HTTPException)
            return _error(error.status_code, str(error.detail))

        app: ASGIApp = Starlette(
            routes=routes, exception_handlers={Refused: refuse, HTTPException: no_endpoint}
        )
        if self.options.faults:
            app = FaultLayer(
                app,
                plan=FaultPlan(FaultFile.read(self.options.faults)),
                clock=self.clock,
                account=self._account,
                struck=lambda account, fault: self.books.account(account).count("faults", fault),
                actions={},
            )
        app = BookKeeping(
            app,
            books=self.books,
            account=self._account,
            endpoint=lambda scope: f"{scope['method']} {scope['path'].removeprefix(PREFIX)}",
            clock=self.clock,
        )
        return Dated(app, self.clock)

    def _account(self, scope: Scope) -> str | None:
        if not scope["path"].startswith(PREFIX):
            return None
        key = self.keys.of(scope)
        return key.name if key else "nobody"

    async def _chat(self, http: Request) -> Response:
        key = self.keys.authorised(http.scope)
        raw = await http.body()
        if len(raw) > _MOST_BODY_BYTES:
            raise Refused(f"the body is larger than {_MOST_BODY_BYTES} bytes", status=413)
        request = ChatRequest.read(raw)
        if request.model != MODEL:
            raise Refused(f"no model {request.model[:80]!r} here, only {MODEL}", status=404)
        if request.providers and PROVIDER not in request.providers:
            raise Refused(f"no allowed provider serves this model; it is served by {PROVIDER}", status=404)
        if (left := self._down_until - self.clock.ticks()) > 0:
            return _error(503, "the stand-in was told to be down", {"retry-after": str(math.ceil(left))})
        conduct = self.mind.conduct
        if conduct.most_open is not None and key.open >= conduct.most_open:
            return _error(429, f"more than {conduct.most_open} requests at a time", self._retry_after())
        if self._limits.draw("limited", key.name, self._limits.nth("limited", key.name)) < conduct.limited:
            return _json({"error": {"code": 429, "message": "rate limited upstream"}}, 200)
        key.open += 1
        try:
            await asyncio.sleep(conduct.slow)
            said = await self.mind.answer(request)
            tokens = self._tokens.count(key.name, request.prompt, len(request.images), said.written)
            cost = self.keys.bill(key, tokens)
            await self.knowledge.tell_spent(key.team, key.kind, cost / 1e6)
        finally:
            key.open -= 1
        return _json(self._completion(said, tokens, cost), 200)

    def _retry_after(self) -> dict[str, str]:
        form = self.mind.conduct.retry_after
        if form == "none":
            return {}
        return {"retry-after": "1" if form == "seconds" else http_date(math.ceil(self.clock.now() + 1))}

    def _completion(self, said: Said, tokens: Tokens, cost: int) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": said.text or None, "refusal": said.refusal}
        if said.call:
            name, arguments = said.call
            function = {"name": name, "arguments": arguments}
            message["tool_calls"] = [{"id": f"call-{secrets.token_hex(4)}", "type": "function"}]
            message["tool_calls"][0]["function"] = function
        usage: dict[str, Any] = {
            "prompt_tokens": tokens.read,
            "completion_tokens": tokens.written,
            "total_tokens": tokens.read + tokens.written,
            "prompt_tokens_details": {"cached_tokens": tokens.cached},
        }
        if self.options.usage_cost:
            usage["cost"] = cost / 1e6
        return {
            "id": f"gen-stand-in-{secrets.token_hex(6)}",
            "object": "chat.completion",
            "created": int(self.clock.now()),
            "model": MODEL,
            "provider": PROVIDER,
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if said.call else "stop"}
            ],
            "usage": usage,
        }

    async def _models(self, _: Request) -> Response:
        prices = {
            "prompt": self.options.price_in,
            "input_cache_read": self.options.price_cached,
            "completion": self.options.price_out,
        }
        row = {
            "id": MODEL,
            "name": "Scrimmage's stand-in (no language model)",
            "description": "Serves the reference plans of Scrimmage's own scenarios.",
            "context_length": 1_000_000,
            "pricing": {name: f"{price / 1e6:.12f}" for name, price in prices.items()},
        }
        return _json({"data": [row]}, 200)

    async def _key(self, http: Request) -> Response:
        key: Key = self.keys.authorised(http.scope)
        return _json({"data": {"label": key.name, "usage": key.micro_usd / 1e6, "limit": None}}, 200)

    async def _books(self, _: Request) -> Response:
        return _json(self.report(), 200)

    async def _conduct(self, http: Request) -> Response:
        """Change the conduct: fields that are given replace the present ones."""
        present = self.mind.conduct.model_dump()
        try:
            changed = Conduct.model_validate({**present, "down": 0.0, **json.loads(await http.body())})
        except (ValidationError, ValueError, TypeError) as error:
            raise Refused(f"conduct: {error}", status=400) from None
        self.mind.conduct = changed
        self._down_until = self.clock.ticks() + changed.down
        return _json(changed.model_dump(), 200)


def open_model(options: ModelOptions) -> tuple[ModelApp, socket.socket, dict[str, Any]]:
    """An application, the socket that it shall listen on, and what its clients must know.

    Returns:
        The last part holds ``origin``, ``url`` (the API's base), ``model`` and ``keys`` (name → key).

    Raises:
        SettingsError: the address cannot be used, or the file of faults is wrong.
    """
    from emulators.arena.building import Builder

    app = ModelApp(options, Builder().build, Clock())
    listening = listen(options.host, options.port)
    address = origin(listening)
    keys = {key.name: key.secret for key in app.keys.all()}
    return app, listening, {"origin": address, "url": address + PREFIX, "model": MODEL, "keys": keys}


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return _json({"error": {"code": status, "message": message}}, status, headers)


def _json(data: Any, status: int, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(data).encode(), status, headers, media_type="application/json")
