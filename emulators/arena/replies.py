"""Answers in the form that the choices ask for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from emulators.arena.choices import Choices
from emulators.clock import Clock, http_date


class Replies:
    """Makes responses."""

    def __init__(self, choices: Choices, clock: Clock) -> None:
        self._choices = choices
        self._clock = clock
        self._as_text = choices.envelope == "none" and not choices.extra_fields and choices.nulls == "kept"

    def json(self, data: Mapping[str, Any], status: int = 200) -> Response:
        """A successful JSON answer."""
        body: Any = data
        if not self._as_text:
            if self._choices.nulls == "left out":
                body = _without_nulls(body)
            if self._choices.extra_fields:
                body = _with_extras(body)
            if self._choices.envelope == "data":
                body = {"data": body}
        return _json(body, status)

    def plain(self, data: Mapping[str, Any]) -> Response:
        """A JSON answer that no choice changes."""
        return _json(data, 200)

    def error(self, message: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
        """``{"error": message}``: never in an envelope, the text is clear about it."""
        return _json({"error": message}, status, headers)

    def too_many(self, wait: float) -> Response:
        """429 with Retry-After, in whole seconds rounded up.

        Args:
            wait: seconds until the bucket has a token.
        """
        seconds = max(1, math.ceil(wait))
        after = str(seconds)
        if self._choices.retry_after == "date":
            after = http_date(math.ceil(self._clock.now() + wait))
        return self.error("too many requests", 429, {"retry-after": after})

    def file(self, data: bytes, content_type: str, *, immutable: bool = False) -> Response:
        """Raw bytes."""
        caching = "private, max-age=31536000, immutable" if immutable else "no-store"
        return Response(data, headers={"content-type": content_type, "cache-control": caching})


def _json(data: Any, status: int, headers: Mapping[str, str] | None = None) -> Response:
    # ASCII only: a client may have sent half a surrogate pair, which no encoding takes.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Response(text.encode("ascii"), status, headers, media_type="application/json")


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _with_extras(value: Any) -> Any:
    """Objects with identifiers get fields that the text does not know."""
    if isinstance(value, dict):
        extended = {key: _with_extras(item) for key, item in value.items()}
        return {**extended, "_links": {"self": None}, "api_revision": 3}
    if isinstance(value, list):
        return [_with_extras(item) for item in value]
    return value
