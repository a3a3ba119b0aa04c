"""Logs of the worker processes: one JSON event per line on stderr, keys masked.

Celery's own lines take the same way, so that a machine's log reads as one stream. What people watch (the
live view, the archive) is made from the ledger, never from here.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, MutableMapping
from typing import Any

import structlog
from pydantic import SecretStr

from shared.settings import Settings, url_secrets

_LONGEST = 4000
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:arena_|sk-|a2a_)[A-Za-z0-9_-]{6,}|(?<=Bearer )[^\s\"']+")


class Mask:
    """Replaces keys in text: those of the settings literally, and whatever looks like one."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= 4}, key=len, reverse=True)
        self._known = _any_of(known)
        self._unmistakable = _any_of([secret for secret in known if len(secret) >= 8])

    @classmethod
    def of(cls, settings: Settings) -> Mask:
        """The mask for every secret in the settings, passwords inside URLs included."""
        secrets: list[str] = []
        for name in type(settings).model_fields:
            value = getattr(settings, name)
            if isinstance(value, SecretStr):
                secrets.append(value.get_secret_value())
            elif isinstance(value, str) and "://" in value:
                secrets.extend(url_secrets(value))
        return cls(secrets)

    def text(self, text: str) -> str:
        """``text`` with every key replaced by stars."""
        if self._known is not None:
            text = self._known.sub("***", text)
        return _LOOKS_LIKE_A_KEY.sub("***", text)

    def finds(self, text: str) -> bool:
        """Whether ``text`` holds a key of the settings; short passwords, which may be words, do not count."""
        return self._unmistakable is not None and self._unmistakable.search(text) is not None

    def value(self, value: Any) -> Any:
        """What ``text`` does, for JSON-like data, however deep."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value


def _any_of(words: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(re.escape, words))) if words else None


def bounded(text: str, longest: int = _LONGEST) -> str:
    """``text``, with its middle left out where it is longer than ``longest`` characters."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def configure(settings: Settings) -> None:
    """Send structlog's and Celery's events to stderr, one masked JSON object per line."""
    mask = Mask.of(settings)

    def masked(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {key: mask.value(value) if key[:1] != "_" else value for key, value in event.items()}

    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        masked,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                masked,
                structlog.processors.JSONRenderer(default=str, ensure_ascii=False),
            ],
        )
    )
    logging.captureWarnings(True)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for chatty in ("httpx", "httpcore", "kombu", "celery.worker.strategy", "celery.app.trace"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
