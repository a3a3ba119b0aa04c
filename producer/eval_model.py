"""Does the final run's model answer with the final run's key, and is there money on it?

The credit is asked for as OpenRouter tells it (``GET /key``); other endpoints do not, which is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
from pydantic import SecretStr

from producer.health import Check
from shared.platforms.answer import printable
from shared.platforms.origin import is_loopback
from shared.settings import Settings

_SECONDS = 30.0
_KEY_PATHS = ("/key", "/auth/key")
_ANSWER_TOKENS = 16


def model_checks(settings: Settings) -> Iterator[Check]:
    """Key, credit, answer. A single call of a few tokens is made, before the run's cost begins to count."""
    if settings.model is None:
        yield Check("model", None, "none is configured: solvers play without")
        return
    if settings.eval_model_key is None:
        yield Check(
            "model", False, "SCRIMMAGE_EVAL_MODEL_KEY is not set: a final run uses this key and no other"
        )
        return
    yield Check("model", True, f"{settings.model} at {settings.model_url}")
    with _client(settings.model_url, settings.eval_model_key) as client:
        yield _credit(client)
        yield _answer(client, settings)


def _client(url: str, key: SecretStr) -> httpx.Client:
    return httpx.Client(
        base_url=url,
        headers={"authorization": f"Bearer {key.get_secret_value()}"},
        timeout=_SECONDS,
        trust_env=not is_loopback(httpx.URL(url).host),
    )


def _credit(client: httpx.Client) -> Check:
    for path in _KEY_PATHS:
        try:
            answer = client.get(path)
            body = answer.json() if answer.is_success else None
        except (httpx.HTTPError, ValueError):
            continue
        if answer.status_code in {401, 403}:
            return Check("credit", False, "the endpoint refuses SCRIMMAGE_EVAL_MODEL_KEY")
        data = body.get("data", body) if isinstance(body, dict) else None
        if isinstance(data, dict) and {"limit", "limit_remaining", "usage"} & data.keys():
            return _credit_left(data)
    return Check("credit", None, "the endpoint does not tell a key's credit")


def _credit_left(data: dict[str, Any]) -> Check:
    left, limit, used = (_number(data.get(name)) for name in ("limit_remaining", "limit", "usage"))
    if left is None and limit is not None and used is not None:
        left = limit - used
    if left is None:
        return Check("credit", True, "the key has no limit")
    return Check("credit", left > 0, f"${left:.2f} left on the key")


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _answer(client: httpx.Client, settings: Settings) -> Check:
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": [{"role": "user", "content": "Answer with the word ready."}],
        "max_tokens": _ANSWER_TOKENS,
        "temperature": 0,
    }
    if settings.model_provider:
        body["provider"] = {"order": settings.model_provider.split(","), "allow_fallbacks": False}
    try:
        answer = client.post("/chat/completions", json=body)
        said = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        return Check("model answers", False, f"no: {type(error).__name__}")
    if answer.is_success and isinstance(said, dict) and said.get("choices") and not said.get("error"):
        return Check("model answers", True, f"in {answer.elapsed.total_seconds():.1f} s")
    assert settings.eval_model_key is not None
    words = str(said.get("error") if isinstance(said, dict) else said)
    shown = printable(words.replace(settings.eval_model_key.get_secret_value(), "[key]"), 160)
    return Check("model answers", False, f"HTTP {answer.status_code}: {shown}")
