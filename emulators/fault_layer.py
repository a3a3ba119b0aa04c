"""The ASGI layer that carries out faults. Which request is struck, and by what: `emulators.faults`."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulators.clock import Clock, http_date
from emulators.faults import (
    AnyRule,
    Corrupt,
    Deadline,
    Drip,
    Drop,
    FaultPlan,
    Hang,
    Revoke,
    Skew,
    Status,
    TooMany,
    Truncate,
)
from emulators.transport import transport_of

_CLOSING_SECONDS = 30.0

Answer = tuple[Message, bytes]
"""The start of a response and its whole body."""


class FaultLayer:
    """Around an emulator's application, inside of the books.

    Args:
        app: what answers when nothing goes wrong.
        plan: the rules.
        clock: the emulator's.
        account: names the account of a request; None: it is spared.
        struck: told the account and the fault's name, for the books.
        actions: what the faults ``deadline`` and ``revoke`` do: called with the scope and seconds.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        plan: FaultPlan,
        clock: Clock,
        account: Callable[[Scope], str | None],
        struck: Callable[[str, str], object],
        actions: Mapping[str, Callable[[Scope, float], None]],
    ) -> None:
        self._app = app
        self._plan = plan
        self._clock = clock
        self._account = account
        self._struck = struck
        self._actions = actions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        account = self._account(scope)
        found = account and self._plan.strike(scope["method"], scope["path"], account)
        if not account or not found:
            await self._app(scope, receive, send)
            return
        rule, draw = found
        self._struck(account, rule.fault)
        await self._carry_out(rule, draw, scope, receive, send)

    async def _carry_out(self, rule: AnyRule, draw: int, scope: Scope, receive: Receive, send: Send) -> None:
        if isinstance(rule, Deadline | Revoke):
            self._actions[rule.fault](scope, rule.seconds if isinstance(rule, Deadline) else 0.0)
            await self._app(scope, receive, send)
        elif isinstance(rule, Skew):
            await self._app(scope, receive, self._skewed(rule.seconds, send))
        elif isinstance(rule, Hang) and rule.when == "before":
            if await _hung(rule.seconds, scope, receive):
                await self._app(scope, receive, send)
        elif isinstance(rule, TooMany):
            await _answer(send, self._too_many(rule))
        elif isinstance(rule, Status):
            if rule.when == "after":
                await self._handle(scope, receive)
            await _answer(send, self._status(rule))
        elif isinstance(rule, Drop):
            if rule.when == "after":
                await self._handle(scope, receive)
            transport_of(scope).abort()
            await _gone(receive)
        else:
            answer = await self._handle(scope, receive)
            if isinstance(rule, Hang):
                if await _hung(rule.seconds, scope, receive):
                    await _answer(send, answer)
            elif isinstance(rule, Truncate):
                await _truncated(rule, answer, scope, receive, send)
            elif isinstance(rule, Corrupt):
                await _answer(send, (answer[0], _corrupted(answer[1], rule.count, draw)))
            else:
                await _dripped(rule, send, answer)

    async def _handle(self, scope: Scope, receive: Receive) -> Answer:
        """Let the application answer, and keep the answer back."""
        start: Message = {}
        parts: list[bytes] = []

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, keep)
        return start, b"".join(parts)

    def _skewed(self, seconds: float, send: Send) -> Send:
        async def skewed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"].append((b"date", http_date(self._clock.now() + seconds).encode()))
            await send(message)

        return skewed

    def _too_many(self, rule: TooMany) -> Answer:
        headers = {}
        if rule.form == "seconds":
            headers["retry-after"] = str(rule.retry_after)
        elif rule.form == "date":
            headers["retry-after"] = http_date(self._clock.now() + rule.retry_after)
        return _made(429, b'{"error":"too many requests"}', "application/json", headers)

    def _status(self, rule: Status) -> Answer:
        headers = {} if rule.retry_after is None else {"retry-after": str(rule.retry_after)}
        if rule.body == "json":
            return _made(rule.status, b'{"error":"platform error"}', "application/json", headers)
        if rule.body == "html":
            page = (
                f"<html><head><title>{rule.status}</title></head><body><h1>{rule.status}</h1></body></html>"
            )
            return _made(rule.status, page.encode(), "text/html; charset=utf-8", headers)
        return _made(rule.status, b"", "text/plain", headers)


def _made(status: int, body: bytes, content_type: str, headers: Mapping[str, str]) -> Answer:
    pairs = {"content-type": content_type, "content-length": str(len(body)), **headers}
    encoded = [(name.encode(), value.encode()) for name, value in pairs.items()]
    return {"type": "http.response.start", "status": status, "headers": encoded}, body


async def _hung(seconds: float, scope: Scope, receive: Receive) -> bool:
    """Let time pass. False: the server is stopping, and the connection was closed instead."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        transport_of(scope).abort()
        await _gone(receive)
        return False
    return True


async def _gone(receive: Receive) -> None:
    """Wait until the server has noticed that the connection is closed: it complains about less."""
    async with asyncio.timeout(_CLOSING_SECONDS):
        while (await receive())["type"] != "http.disconnect":
            pass


async def _answer(send: Send, answer: Answer) -> None:
    start, body = answer
    await send(start)
    await send({"type": "http.response.body", "body": body})


async def _truncated(rule: Truncate, answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
    start, body = answer
    part = body[: int(len(body) * rule.keep)]
    if rule.length == "cut":
        start["headers"] = [
            (name, str(len(part)).encode() if name == b"content-length" else value)
            for name, value in start["headers"]
        ]
        await _answer(send, (start, part))
        return
    await send(start)
    await send({"type": "http.response.body", "body": part, "more_body": True})
    transport_of(scope).close()
    await _gone(receive)


def _corrupted(body: bytes, count: int, draw: int) -> bytes:
    changed = bytearray(body)
    for place in random.Random(draw).sample(range(len(body)), min(count, len(body))):  # noqa: S311
        changed[place] ^= 0x55
    return bytes(changed)


async def _dripped(rule: Drip, send: Send, answer: Answer) -> None:
    start, body = answer
    await send(start)
    size = max(1, -(-len(body) // rule.pieces))
    pieces = [body[place : place + size] for place in range(0, len(body), size)]
    for piece in pieces:
        await asyncio.sleep(rule.seconds / len(pieces))
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
