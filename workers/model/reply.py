"""What a model said, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from shared.models import JsonObject


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. ``tokens_cached`` are among ``tokens_in``."""

    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model wants called. ``args`` is None where ``arguments`` are not a JSON object."""

    id: str
    name: str
    arguments: str
    args: JsonObject | None


@dataclass(frozen=True)
class Reply:
    """A usable answer of the model.

    Args:
        text: what it said; empty where it only calls tools.
        parsed: the JSON in ``text`` where a schema was given; None where there is none in it. It is not
            checked against the schema: models break theirs, and only the caller knows what it can forgive.
        tool_calls: in the model's order.
        refusal: the model's own words where it refused to answer.
        finish: why it stopped: ``stop``, ``length`` (``max_tokens`` were too few), ``tool_calls`` …
        usage: tokens.
        cost: whole micro-dollars; 0 for a replayed answer.
        provider: who answered, where the endpoint says so.
        seconds: from the request to the answer's end.
        replayed: it came from the pool's replay cache (``--model-cache``).
    """

    text: str
    parsed: JsonValue = None
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish: str | None = None
    usage: Usage = Usage()
    cost: int = 0
    provider: str | None = None
    seconds: float = 0.0
    replayed: bool = False
