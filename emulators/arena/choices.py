"""Every choice that the platform's text leaves open, in one place.

The real arena will choose in its own way. A client must get along with each of these, so each can be
switched: ``scrimmage emulate arena --choice create_status=201 --choice envelope=data``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from shared.errors import UsageError


@dataclass(frozen=True)
class Choices:
    """The defaults are the readings that the text suggests most."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    create_status: Literal[200, 201] = 200
    """Status of a successful POST /runs."""

    seeds: Literal["any", "small", "refused"] = "any"
    """Which seeds POST /runs takes: every whole number up to 2**53, up to 2**31 - 1, or none (400)."""

    final_seed_shown: bool = False
    """Whether a final run shows its seed and variation (else the fields are left out)."""

    check_order: Literal["state", "body"] = "state"
    """What is looked at first where both are wrong: the run's state (404, 409) or the body (400)."""

    empty_body: Literal["object", "refused"] = "object"
    """What an empty body of a POST is: ``{}``, or 400."""

    unknown_tool: Literal[200, 400, 404] = 404
    """Status for a tool that does not exist; 200 says it as ``{"ok": false}``."""

    unknown_argument: Literal["error", "ignored", 400] = "error"
    """An argument that a tool does not have: ``{"ok": false}``, no matter, or 400."""

    failed_calls_count: bool = True
    """Whether ``tool_calls`` counts calls that were answered with ``{"ok": false}``."""

    result_shape: Literal["plain", "wrapped", "renamed", "text"] = "plain"
    """Shape of tool results: as GET /tools describes them; inside ``{"data": …, "meta": …}``; with the
    most telling fields under other names; or as JSON text in a string."""

    until_inclusive: bool = True
    """Whether ``query_logs`` returns events at the very moment of ``until``."""

    wrong_hint: Literal["refused", "searched"] = "refused"
    """A blob's ``?task=`` that does not list the hash: 404, or the whole run is searched after all."""

    manifests_after_end: bool = False
    """Whether manifests still answer when the run has ended (else 409, as files do)."""

    finish_on_expired: Literal[200, 409] = 200
    """What finish says on a run that expired."""

    runs_order: Literal["newest", "oldest"] = "newest"
    """Order of GET /runs."""

    runs_page: int = 0
    """Runs per page of GET /runs (``?cursor=``, answered as ``next_cursor``); 0: all at once."""

    retry_after: Literal["seconds", "date"] = "seconds"
    """Form of Retry-After on a 429. The text promises seconds; gateways send HTTP-dates."""

    envelope: Literal["none", "data"] = "none"
    """An envelope around every JSON answer that is not an error: ``{"data": …}``."""

    extra_fields: bool = False
    """Whether answers carry fields that the text does not name."""

    nulls: Literal["kept", "left out"] = "kept"
    """Whether fields that are null are there at all."""

    clock_skew: float = 0.0
    """Seconds by which the server's clock (``Date``, ``deadline_at``, all times) is ahead."""

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Choices:
        """Read ``name=value`` texts.

        Raises:
            UsageError: a name or value is unknown; the message lists what there is.
        """
        values: dict[str, object] = {}
        for text in texts:
            name, equals, value = text.partition("=")
            if not equals or name not in _NAMES:
                raise UsageError(f"--choice {text}: expected NAME=VALUE with NAME among {', '.join(_NAMES)}")
            values[name] = _value(value)
        try:
            return _ADAPTER.validate_python(values)
        except ValidationError as error:
            row = error.errors(include_url=False)[0]
            raise UsageError(f"--choice {row['loc'][0]}={row['input']}: {row['msg']}") from None


_NAMES = tuple(field.name for field in fields(Choices))
_ADAPTER = TypeAdapter(Choices)


def _value(text: str) -> object:
    """``201`` is a number, ``true`` a truth, what is no JSON a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
