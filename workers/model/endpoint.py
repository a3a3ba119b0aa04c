"""One chat-completions endpoint with one key: a request, its answer, and what a failure means.

The key goes to the configured origin and nowhere else.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import httpx
import structlog

from shared.deadline import Deadline
from shared.errors import NotAuthorised, Refused, SettingsError
from shared.models import JsonObject
from shared.platforms.answer import printable
from shared.platforms.origin import is_loopback
from shared.platforms.retry import http_date, retry_after
from workers.model.answer import Answer
from workers.model.completion import Completion
from workers.model.dialect import Dialect
from workers.model.prices import GUESS, Price, counted

SEED = 7
ANSWER_LIMIT = 16 * 2**20
"""Bytes of an answer that are read at most."""

_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 4.0
_ASK_PRICE_AGAIN = 60.0
_OVERLOAD = {429, 503, 529}
_LOST = {408, 504, 524}
"""A gateway stopped waiting: the model may have gone on, and be paid for it."""
_LACKS = re.compile(r"\bsupport", re.IGNORECASE)
"""A 404 of OpenRouter that is about this request: nobody "supports image input" for the model."""
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)

log = structlog.get_logger(__name__)


@dataclass(eq=False)  # not frozen: Python itself sets attributes of exceptions
class Miss(Exception):
    """One try brought no usable answer, and another may.

    Args:
        why: printable, free of keys.
        lost: it may have been answered and billed all the same.
        overload: the endpoint has too much to do, or we ask too often.
        after: seconds that it wants us to wait.
        completion: an answer that is of no use, but was billed.
    """

    why: str
    lost: bool = False
    overload: bool = False
    after: float | None = None
    completion: Completion | None = None

    def __str__(self) -> str:
        return self.why


class Endpoint:
    """Where calls go. Made after the fork; for several threads.

    Args:
        url: base URL ("https://openrouter.ai/api/v1").
        model: the model's name there.
        key: sent as bearer token.
        provider: pins OpenRouter's choice of who serves the model; None: it chooses.
        price: as set by the user; None: the endpoint's list of models is asked.
        timeout: seconds until an unanswered try counts as lost.
        connections: calls at a time in this process.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str,
        *,
        provider: str | None = None,
        price: Price | None = None,
        timeout: float,
        connections: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not (key.isascii() and key.isprintable()):
            raise SettingsError("the model's key holds characters that no HTTP header can carry")
        self.url = url
        self.model = model
        self._key = key
        self._provider = provider
        self._price = price
        self._priced_until = float("inf") if price else 0.0
        self._pricing = threading.Lock()
        self._timeout = timeout
        self._dialects: dict[bool, Dialect] = {}
        self._clock = clock
        self._client = httpx.Client(
            headers={"authorization": f"Bearer {key}", "user-agent": f"scrimmage/{version('scrimmage')}"},
            follow_redirects=False,
            trust_env=not is_loopback(httpx.URL(url).host),
            limits=httpx.Limits(
                max_connections=connections,
                max_keepalive_connections=connections,
                keepalive_expiry=_IDLE_SECONDS,
            ),
        )

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def body(
        self,
        messages: Sequence[JsonObject],
        schema: Mapping[str, object] | None,
        tools: Sequence[JsonObject],
        max_tokens: int,
    ) -> bytes:
        """The request's body; the same arguments give the same bytes."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(messages),
            "temperature": 0,
            "seed": SEED,
            "max_tokens": max_tokens,
        }
        if schema is not None:
            wanted = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        if tools:
            body["tools"] = list(tools)
        if self._provider:
            body["provider"] = {"order": self._provider.split(","), "allow_fallbacks": False}
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode(errors="replace")

    def ask(self, body: bytes, deadline: Deadline) -> Completion:
        """One try.

        Raises:
            Miss: no usable answer came.
            NotAuthorised, SettingsError, Refused: another try would end the same way.
        """
        completion = self._read(self._taken(body, deadline))
        if not completion.metered:
            completion = replace(completion, usage=counted(body, completion.raw))
        if completion.empty:
            raise Miss("an answer without content", completion=completion)
        return completion

    def _taken(self, body: bytes, deadline: Deadline) -> Answer:
        """The answer to the request in the first wording that the endpoint does not turn down."""
        with_tools = b'"tools":' in body  # some take a schema or tools, but not both at once
        dialect = self._dialects.get(with_tools, Dialect())
        first: Answer | None = None
        while True:
            answer = self._exchange(
                "POST", "/chat/completions", deadline.sooner(self._timeout), dialect.worded(body)
            )
            try:
                code = answer.code
            except ValueError:
                raise Miss("the answer is not JSON (cut off?)", lost=True) from None
            if code is None:
                if self._dialects.get(with_tools, Dialect()) != dialect:
                    log.info(
                        "model.asked_otherwise", url=self.url, form=dialect.form, without=[*dialect.without]
                    )
                    self._dialects[with_tools] = dialect
                return answer
            first = first or answer
            other = dialect.after(body, code, answer.said)
            if other is None:
                raise self._failure(first if code < 500 and first.code else answer)
            dialect = other

    def _read(self, answer: Answer) -> Completion:
        try:
            return Completion.read(answer.body)
        except ValueError as wrong:
            raise Miss(f"malformed answer: {wrong}", lost=True) from None

    def price(self) -> Price:
        """What tokens cost here: as set, else as the endpoint lists it, else a guess."""
        with self._pricing:
            if self._price is None or self._clock() >= self._priced_until:
                self._price = self._listed_price()
                self._priced_until = self._clock() + (_ASK_PRICE_AGAIN if self._price.guessed else 3600.0)
            return self._price

    def _listed_price(self) -> Price:
        until = Deadline.after(min(self._timeout, _CONNECT_SECONDS))
        try:
            answer = self._exchange("GET", "/models", until)
            price = Price.listed(answer.content, self.model) if answer.code is None else None
        except (Miss, ValueError):
            price = None
        if price is None:
            log.warning("model.price_guessed", model=self.model, hint="set SCRIMMAGE_MODEL_PRICE")
        return price or GUESS

    def _exchange(self, method: str, path: str, until: Deadline, body: bytes | None = None) -> Answer:
        seconds = max(until.left(), 0.001)
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        headers = {} if body is None else {"content-type": "application/json"}
        url = self.url + path
        try:
            with self._client.stream(method, url, content=body, headers=headers, timeout=timeout) as response:
                data = b""
                for part in response.iter_bytes():
                    data += part
                    if until.passed:  # httpx times each read alone: a dripping body would never end
                        raise Miss("the answer did not end in time", lost=True)
                    if len(data) > ANSWER_LIMIT:
                        raise Miss(f"the answer is longer than {ANSWER_LIMIT} bytes", lost=True)
                named = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status_code, named, data)
        except httpx.HTTPError as error:
            words = self._clean(f"{type(error).__name__}: {error}")
            raise Miss(words, lost=not isinstance(error, _NOT_SENT)) from None  # the error holds the key

    def _failure(self, answer: Answer) -> Miss | Refused | SettingsError:
        """What an error means, whether it came as a status or inside HTTP 200."""
        code, said = answer.code or answer.status, answer.said
        words = self._clean(f"{code}: {said}" if said else f"{code} without a message")
        moderated = code == 403 and b'"flagged_input"' in answer.data  # OpenRouter's: not about the key
        if code in {401, 402, 403} and not moderated:
            return NotAuthorised(f"the model's endpoint {self.url} refuses the key: {words}", status=code)
        if code == 404 and not _LACKS.search(said):
            return SettingsError(f"no model {self.model!r} at {self.url}: {words}; set SCRIMMAGE_MODEL")
        if code in _OVERLOAD or code in _LOST or code >= 500 or code < 400:
            now = http_date(answer.headers.get("date", ""))
            after = retry_after(answer.headers, time.time() if now is None else now)
            return Miss(words, lost=code in _LOST, overload=code in _OVERLOAD, after=after)
        return Refused(f"the model's endpoint rejects the request: {words}", status=code)

    def _clean(self, text: str) -> str:
        return printable(text.replace(self._key, "[key]"))
