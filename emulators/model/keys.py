"""The stand-in's keys and what each has spent, in whole micro-dollars: its own books."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Scope

from emulators.model.options import ModelOptions
from emulators.model.tokens import Tokens
from shared.errors import Refused


@dataclass
class Key:
    """One key. ``kind`` is dev or final, as the arena calls the runs that it is for."""

    name: str
    team: str
    kind: str
    secret: str = field(repr=False)
    micro_usd: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    open: int = 0

    def report(self) -> dict[str, Any]:
        return {
            "micro_usd": self.micro_usd,
            "calls": self.calls,
            "tokens_in": self.tokens_in,
            "tokens_cached": self.tokens_cached,
            "tokens_out": self.tokens_out,
        }


class Keys:
    """All keys. A call costs whole micro-dollars, rounded up."""

    def __init__(self, options: ModelOptions) -> None:
        self._options = options
        self._keys: list[Key] = []
        for number in range(1, options.teams + 1):
            for kind in ("dev", "final"):
                secret = f"sk-stand-in-{kind}-{number}"
                if options.password:
                    secret = f"sk-stand-in-{secrets.token_urlsafe(24)}"
                self._keys.append(Key(f"team-{number} {kind}", f"team-{number}", kind, secret))

    def all(self) -> list[Key]:
        return list(self._keys)

    def of(self, scope: Scope) -> Key | None:
        """Whose key a request carries; None where it carries none that we know."""
        for name, value in scope["headers"]:
            if name == b"authorization":
                secret = value.decode("latin-1").partition(" ")[2].strip()
                return next((key for key in self._keys if key.secret == secret), None)
        return None

    def authorised(self, scope: Scope) -> Key:
        """Raises Refused (401) where the key is missing or unknown."""
        key = self.of(scope)
        if key is None:
            raise Refused("no auth credentials found, or none that are known", status=401)
        return key

    def bill(self, key: Key, tokens: Tokens) -> int:
        """Write a call into the key's books. Returns its cost in micro-dollars."""
        options = self._options
        micros = (
            (tokens.read - tokens.cached) * options.price_in
            + tokens.cached * options.price_cached
            + tokens.written * options.price_out
        )
        cost = math.ceil(round(micros, 6))
        key.micro_usd += cost
        key.calls += 1
        key.tokens_in += tokens.read
        key.tokens_cached += tokens.cached
        key.tokens_out += tokens.written
        return cost
