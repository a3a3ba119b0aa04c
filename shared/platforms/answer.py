"""What comes back from a platform, and how its words are read and shown."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import JsonValue

from shared.errors import UsageError

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A usable answer.

    Args:
        status: 2xx.
        data: the body, as the caller wanted it read.
        headers: names in lower case.
        server_now: the server's clock when it answered (its ``Date`` header, whole seconds since the epoch),
            None where it did not say.
    """

    status: int
    data: T
    headers: Mapping[str, str]
    server_now: float | None

    @property
    def now(self) -> float:
        """The server's clock, ours where it did not say."""
        return time.time() if self.server_now is None else self.server_now


def read_json(data: bytes) -> JsonValue:
    """JSON from bytes; NaN and infinities, which are not JSON, are read as null. Raises ValueError."""
    value: JsonValue = json.loads(data, parse_constant=lambda _: None)
    return value


def write_json(body: JsonValue, doing: str) -> bytes:
    """A request's body. Raises UsageError for what is not JSON; ``doing`` says what it was for."""
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{doing}: the body is not JSON: {error}") from None


def error_message(data: bytes) -> str | None:
    """The message of ``{"error": "message"}`` or one of its common relatives, None where there is none."""
    try:
        said = read_json(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    for name in ("error", "message", "detail"):
        if isinstance(said, dict) and said.get(name):
            said = said[name]
    return said if isinstance(said, str) else json.dumps(said)


def printable(text: str, limit: int = 300) -> str:
    """``text`` in one line of at most ``limit`` characters, without control and format characters."""
    shown = "".join(
        " " if unicodedata.category(letter)[0] in "CZ" else letter for letter in text[: 4 * limit]
    )
    shown = " ".join(shown.split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
