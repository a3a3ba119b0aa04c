"""Reads answers of chat completions, as OpenAI, OpenRouter and llama.cpp send them.

Only what is used is read, and nothing is taken for granted: every field but ``choices`` may be missing.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from shared.models import JsonObject
from shared.pool.spend import micro_dollars
from workers.model.prices import Price
from workers.model.reply import ToolCall, Usage


@dataclass(frozen=True)
class Completion:
    """An answer of the endpoint; fields as in ``Reply``.

    Args:
        raw: the answer's bytes; ``read(raw)`` gives the same completion again.
        cost_usd: as the endpoint says it; None: it does not.
    """

    raw: bytes
    text: str
    tool_calls: tuple[ToolCall, ...]
    refusal: str | None
    finish: str | None
    usage: Usage
    cost_usd: float | None
    provider: str | None
    model: str | None

    @classmethod
    def read(cls, raw: bytes) -> Completion:
        """Read an answer. Raises ValueError where it is no completion."""
        answer = json.loads(raw)
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise ValueError("no choices in it")
        message = choices[0].get("message")
        if not isinstance(message, dict):
            raise ValueError("no message in its first choice")
        used = _object(answer.get("usage"))
        finish = _word(choices[0].get("finish_reason"))
        text, calls = _text(message.get("content")), tuple(_tool_calls(message.get("tool_calls")))
        refusal = _word(message.get("refusal"))
        if not text.strip() and not calls:
            if finish == "content_filter":
                refusal = refusal or "a filter held the answer back"
            elif finish != "length":  # thoughts that broke off are none
                text = _text(message.get("reasoning_content") or message.get("reasoning"))
        return cls(
            raw=raw,
            text=text,
            tool_calls=calls,
            refusal=refusal,
            finish=finish,
            usage=Usage(
                tokens_in=_count(used.get("prompt_tokens")),
                tokens_cached=_count(_object(used.get("prompt_tokens_details")).get("cached_tokens")),
                tokens_out=_count(used.get("completion_tokens")),
            ),
            cost_usd=_money(used.get("cost")),
            provider=_word(answer.get("provider")),
            model=_word(answer.get("model")),
        )

    @property
    def empty(self) -> bool:
        """True where it says nothing, calls nothing and refuses nothing, and had room to."""
        return not (self.text.strip() or self.tool_calls or self.refusal or self.finish == "length")

    @property
    def metered(self) -> bool:
        """False where the endpoint tells neither tokens nor cost."""
        return self.cost_usd is not None or self.usage != Usage()

    def cost(self, price: Price) -> int:
        """Whole micro-dollars: as the endpoint says, else by the price."""
        if self.cost_usd is not None:
            return micro_dollars(self.cost_usd)
        return price.of(self.usage)


def _text(content: Any) -> str:
    """Content is a text or, with some models, a list of parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(_object(part).get("text"), str))
    return content if isinstance(content, str) else ""


def _tool_calls(calls: Any) -> list[ToolCall]:
    found = []
    for number, call in enumerate(calls if isinstance(calls, list) else []):
        function = _object(_object(call).get("function"))
        given = function.get("arguments")
        arguments = given if isinstance(given, str) else json.dumps(given or {})
        call_id = _word(_object(call).get("id")) or f"call-{number}"
        found.append(ToolCall(call_id, _word(function.get("name")) or "", arguments, _args(arguments)))
    return found


def _args(arguments: str) -> JsonObject | None:
    try:
        args = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return args if isinstance(args, dict) else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: Any) -> float:
    """A number that is not negative, also as a text; else NaN."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) and number >= 0 else math.nan


def _count(value: Any) -> int:
    number = _number(value)
    return 0 if math.isnan(number) else int(number)


def _money(value: Any) -> float | None:
    number = _number(value)
    return None if math.isnan(number) else number
