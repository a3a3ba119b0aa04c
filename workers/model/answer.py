"""An answer of an endpoint as it came, and whether it is an error.

Errors come in four ways, which mean the same here: as an HTTP status, as ``{"error": …}`` inside HTTP 200
(OpenRouter), as an error in place of the first choice, and as a choice that ended with ``error``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_COMMENTS = re.compile(rb"\A(?:\s*:[^\n]*(?:\n|\Z))+")
"""Signs of life before an answer, in the form of server-sent events (": OPENROUTER PROCESSING")."""

_UNNAMED, _BROKE_OFF = 500, 504
"""Codes of errors that name none. An answer that broke off may have been paid for (see ``Model``)."""


_ENDED = "the answer broke off"


@dataclass(frozen=True)
class Answer:
    """One HTTP answer.

    Args:
        status: of HTTP.
        headers: by name in lower case.
        data: its body.
    """

    status: int
    headers: Mapping[str, str]
    data: bytes

    @cached_property
    def body(self) -> bytes:
        """The body without what was sent to keep the connection alive."""
        return _COMMENTS.sub(b"", self.data)

    @cached_property
    def content(self) -> Any:
        """The body's JSON. Raises ValueError where it is none."""
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None

    @property
    def code(self) -> int | None:
        """What kind of error it is, by the codes of HTTP; None where it is none.

        Raises ValueError for a good status whose body is no JSON.
        """
        if not 200 <= self.status < 300:
            return self.status
        error = self._error
        if error is None:
            return None
        code = error.get("code") if isinstance(error, dict) else None
        try:
            return int(code)  # type: ignore[arg-type]  # a text of digits will do
        except (TypeError, ValueError):
            return _BROKE_OFF if error == _ENDED else _UNNAMED

    @property
    def said(self) -> str:
        """The message of an error, in whichever of the common forms."""
        try:
            said: Any = self.content
        except ValueError:
            return ""
        if self._error is not None:
            said = self._error
        for name in ("error", "message"):
            if isinstance(said, dict) and said.get(name):
                said = said[name]
        return said if isinstance(said, str) else json.dumps(said)

    @property
    def _error(self) -> Any:
        """What the body says of an error: an object, a text, or None."""
        content = self.content if isinstance(self.content, dict) else {}
        choices = content.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, dict):
            first = {}
        ended = _ENDED if first.get("finish_reason") == "error" else None
        return content.get("error") or first.get("error") or ended
