"""Finds the JSON in what a model said. Models wrap it in prose, code fences and thoughts, schema or not."""

from __future__ import annotations

import json
import re

from pydantic import JsonValue

_OPENING = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(strict=False)  # models put raw line breaks into strings
_MOST_STARTS = 200


def find(text: str) -> JsonValue:
    """The largest JSON object or array in ``text``, thoughts left aside; None where there is none."""
    text = text.rpartition("</think>")[2]
    best: JsonValue = None
    longest = at = 0
    for _ in range(_MOST_STARTS):
        opening = _OPENING.search(text, at)
        if opening is None:
            break
        try:
            value, end = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            at = opening.start() + 1
            continue
        if end - opening.start() > longest:
            best, longest = value, end - opening.start()
        at = end
    return best
