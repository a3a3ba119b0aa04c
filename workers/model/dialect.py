"""How a request is worded for an endpoint that does not take all of it.

Endpoints that are called OpenAI-compatible differ in how they take a schema, and some models turn down
parameters that others want. A request that was turned down is worded otherwise, step by step; the wording
that was taken is the one to begin with from then on. What is asked for stays the same: a schema only helps,
and whoever gave one reads the answer with care.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

_REJECTIONS = {400, 404, 415, 422, 500, 501}
"""llama-cpp-python's server turns a schema down with 500."""

_LOOKED_AT = {400, 422}
"""With these a schema is suspected whatever the message says."""

_SCHEMA_WORDS = ("response_format", "response format", "schema", "structured", "json mode")
_FORMS = 4
_OTHERWISE = {"max_tokens": "max_completion_tokens", "temperature": "temperature", "seed": "seed"}
"""Parameters that can be left out, and the word in an error that is about them."""


@dataclass(frozen=True)
class Dialect:
    """What an endpoint takes, as far as is known.

    Args:
        form: of the schema: 0 binding, 1 as a wish, 2 inside ``json_object`` (llama-cpp-python), 3 not sent.
        without: parameters that are left out; ``max_tokens`` goes by its newer name then.
    """

    form: int = 0
    without: frozenset[str] = frozenset()

    def worded(self, body: bytes) -> bytes:
        """A request in this dialect."""
        if self == Dialect():
            return body
        request = json.loads(body)
        if self.form and "response_format" in request:
            wanted = request.pop("response_format")["json_schema"]
            request |= _form(self.form, wanted)
        for name in self.without & request.keys():
            value = request.pop(name)
            if name == "max_tokens":
                request["max_completion_tokens"] = value
        return json.dumps(request, ensure_ascii=False).encode(errors="replace")

    def after(self, body: bytes, code: int, said: str) -> Dialect | None:
        """What to try after a rejection; None where the wording is not to blame, or nothing is left to try.

        Args:
            body: the request as it was first worded.
            code, said: the error.
        """
        if code not in _REJECTIONS:
            return None
        words = said.lower()
        for name, word in _OTHERWISE.items():
            if word in words and name not in self.without:
                return replace(self, without=self.without | {name})
        suspected = code in _LOOKED_AT or any(word in words for word in _SCHEMA_WORDS)
        if suspected and b'"json_schema"' in body and self.form + 1 < _FORMS:
            return replace(self, form=self.form + 1)
        return None


def _form(number: int, wanted: dict[str, Any]) -> dict[str, Any]:
    if number == 1:
        return {"response_format": {"type": "json_schema", "json_schema": {**wanted, "strict": False}}}
    if number == 2:
        return {"response_format": {"type": "json_object", "schema": wanted["schema"]}}
    return {}
