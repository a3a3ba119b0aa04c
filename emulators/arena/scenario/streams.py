"""Named streams of chance: each consumer draws from its own, so that adding one moves no other."""

from __future__ import annotations

import random


def stream(*parts: str | int) -> random.Random:
    """The stream of that name, the same in every process (seeded by text, never by ``hash``)."""
    return random.Random("/".join(str(part) for part in parts))  # noqa: S311 - scenarios, no secrets
