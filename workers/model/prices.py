"""What tokens cost: to estimate a call before it is made, and to bill one whose answer names no cost."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from workers.model.reply import Usage

_IMAGE = re.compile(rb'data:image/[a-z]+;base64,[^"]*')
_MAX_TOKENS = re.compile(rb'"max_tokens":\s*(\d+)')
IMAGE_TOKENS = 1600
BYTES_PER_TOKEN = 3
"""Of English text and JSON a token has four bytes or more: the estimate is on the careful side."""


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens, which is micro-dollars per token.

    Args:
        tokens_in, tokens_cached, tokens_out: prices of tokens read, read again (cached), written.
        guessed: nobody named the price.
    """

    tokens_in: float
    tokens_cached: float
    tokens_out: float
    guessed: bool = False

    @classmethod
    def parse(cls, text: str) -> Price:
        """Read ``IN/OUT`` or ``IN/CACHED/OUT``, as the settings have checked it."""
        numbers = [float(part) for part in text.split("/")]
        return cls(numbers[0], numbers[-2], numbers[-1])

    @classmethod
    def listed(cls, models: Any, name: str) -> Price | None:
        """The price of a model as the endpoint's list of models (``GET /models``) has it, None without one.

        OpenRouter's form: ``{"data": [{"id": …, "pricing": {"prompt": "0.00000025", …}}]}``, dollars a token.
        """
        rows = models.get("data") if isinstance(models, dict) else None
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict) and row.get("id") == name and isinstance(row.get("pricing"), dict):
                pricing = row["pricing"]
                try:
                    read, written = float(pricing["prompt"]) * 1e6, float(pricing["completion"]) * 1e6
                    again = float(pricing.get("input_cache_read") or pricing["prompt"]) * 1e6
                except (KeyError, TypeError, ValueError):
                    return None
                return cls(read, again, written) if min(read, again, written) >= 0 else None
        return None

    def of(self, usage: Usage) -> int:
        """What a call costs, in whole micro-dollars, rounded up."""
        fresh = usage.tokens_in - usage.tokens_cached
        micros = fresh * self.tokens_in + usage.tokens_cached * self.tokens_cached
        return math.ceil(round(micros + usage.tokens_out * self.tokens_out, 6))

    def estimate(self, body: bytes) -> int:
        """What a request will cost at most, more or less: nothing of it cached, every token written."""
        written = _MAX_TOKENS.search(body)
        return self.of(Usage(tokens_in=_read(body), tokens_out=int(written[1]) if written else 0))


def counted(body: bytes, answer: bytes) -> Usage:
    """The tokens of a call whose answer does not tell them, on the careful side."""
    return Usage(tokens_in=_read(body), tokens_out=math.ceil(len(answer) / BYTES_PER_TOKEN))


def _read(body: bytes) -> int:
    text, images = _IMAGE.subn(b"", body)
    return math.ceil(len(text) / BYTES_PER_TOKEN) + images * IMAGE_TOKENS


GUESS = Price(1.0, 1.0, 4.0, guessed=True)
"""For a model whose price nobody names."""
