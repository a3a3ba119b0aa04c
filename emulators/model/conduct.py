"""How the stand-in behaves: every way in which a model or its endpoint can be a trouble."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Rate = Annotated[float, Field(ge=0, le=1)]


class Conduct(BaseModel):
    """Options of `scrimmage emulate model`; ``POST /_emulator/conduct`` changes them while it runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slow: Annotated[float, Field(ge=0, le=600)] = 0.0
    """Seconds that every answer takes."""
    wrong: Rate = 0.0
    """Part of the tasks whose first plan is wrong: bad SQL, a wrong shape, missing rows, an invented path."""
    malformed: Rate = 0.0
    """Part of the answers whose JSON breaks off."""
    wrapped: Rate = 0.0
    """Part of the answers whose JSON stands in a code fence, with talk around it."""
    refusing: Rate = 0.0
    """Part of the requests that the model refuses."""
    empty: Rate = 0.0
    """Part of the answers without content (billed all the same)."""
    limited: Rate = 0.0
    """Part of the requests answered with HTTP 200 and an error of code 429 inside."""
    most_open: Annotated[int, Field(ge=1)] | None = None
    """So many requests of a key at a time are answered, the others get 429."""
    retry_after: Literal["seconds", "date", "none"] = "seconds"
    """Form of Retry-After on these."""
    down: Annotated[float, Field(ge=0, le=86400)] = 0.0
    """Seconds from now in which every request gets 503."""
    obedient: bool = False
    """Whether it obeys what is written in the data, and any request that breaks a rule."""


class Chance:
    """Draws that are the same in each run: by seed, what is decided, about what, and how often before."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._asked: Counter[tuple[str, str]] = Counter()

    def nth(self, what: str, about: str) -> int:
        """How often this has been decided, this time included."""
        self._asked[what, about] += 1
        return self._asked[what, about]

    def draw(self, what: str, about: str, nth: int = 1) -> float:
        """A number in [0, 1)."""
        text = f"{self._seed}/{what}/{about}/{nth}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) / 2**64
