"""What a stand-in model is started with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from emulators.model.conduct import Conduct
from emulators.options import ServerOptions

MODEL = "scrimmage/stand-in"
PROVIDER = "stand-in"

_SCENARIO = re.compile(r"^[a-z]+:-?\d+:\d+$")


class ModelOptions(ServerOptions):
    """Options of the stand-in; `scrimmage emulate model` has flags for those that a person wants."""

    emulator: ClassVar[str] = "model"

    teams: Annotated[int, Field(ge=1, le=1000)] = 1
    """Each has two keys, one for dev runs and one for final runs."""
    seed: int = 0
    """Decides which answers go wrong."""
    scenarios: tuple[str, ...] = ()
    """``THEME:SEED:VARIATION`` of scenarios whose tasks it knows from the start."""
    arena_url: str | None = None
    """An arena emulator whose runs it learns about, and which it tells what the keys spend."""
    arena_password: str | None = None
    price_in: Annotated[float, Field(ge=0)] = 0.25
    price_cached: Annotated[float, Field(ge=0)] = 0.025
    price_out: Annotated[float, Field(ge=0)] = 2.0
    """US dollars per million tokens."""
    usage_cost: bool = True
    """Whether answers say what they cost (OpenRouter does, many others do not)."""
    faults: Path | None = None
    conduct: Conduct = Conduct()

    @field_validator("scenarios")
    @classmethod
    def _are_scenarios(cls, scenarios: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_SCENARIO.match(text) for text in scenarios):
            raise ValueError("must be THEME:SEED:VARIATION (hub:123456:1)")
        return scenarios
