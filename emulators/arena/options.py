"""What an arena emulator is started with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from emulators.arena.choices import Choices
from emulators.options import ServerOptions

_KEY = re.compile(r"^arena_[A-Za-z0-9_-]{4,200}$")
_WINDOW = re.compile(r"^(?P<opens>\d+(?:\.\d+)?)\.\.(?P<closes>\d+(?:\.\d+)?)$")
_DAY = 86400.0


class ArenaOptions(ServerOptions):
    """Options of the arena emulator; `scrimmage emulate arena` has flags for those that a person wants."""

    emulator: ClassVar[str] = "arena"

    teams: Annotated[int, Field(ge=1, le=1000)] = 1
    keys: tuple[str, ...] = ()
    """Keys of the first teams; the others get ``arena_team_2`` and so on, or random ones with a password."""
    seed: int | None = None
    """Makes the seeds and variations of dev runs that name none repeatable."""
    window: str = "open"
    """The final window: open, closed (it was), none (not announced), or ``FROM..TO`` in seconds from now."""
    deadline: Annotated[float, Field(gt=0)] = 1800.0
    """Seconds of a final run."""
    final_seed: int = 20261114
    final_variation: int = 1
    rate: Annotated[float, Field(gt=0)] = 20.0
    burst: Annotated[int, Field(ge=1)] = 100
    limit: bool = True
    """Whether requests over the limit are refused; they are counted in any case."""
    cost_floor: Annotated[float, Field(gt=0)] = 0.01
    cost_cap: Annotated[float, Field(gt=0)] = 1.0
    """US dollars between which the cost score falls from 1 to 0 (the real ones are on the dashboard)."""
    cost_lag: Annotated[float, Field(ge=0)] = 0.0
    """Seconds until a spend shows in a key's usage."""
    faults: Path | None = None
    choices: Choices = Choices()

    @field_validator("keys")
    @classmethod
    def _are_arena_keys(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_KEY.match(key) for key in keys) or len(set(keys)) != len(keys):
            raise ValueError("keys must differ and look like arena_…: letters, digits, - and _")
        return keys

    @field_validator("window")
    @classmethod
    def _is_a_window(cls, window: str) -> str:
        match = _WINDOW.match(window)
        if window not in {"open", "closed", "none"} and not (
            match and float(match["opens"]) < float(match["closes"])
        ):
            raise ValueError("must be open, closed, none or FROM..TO in seconds from now (5..65)")
        return window

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.cost_floor >= self.cost_cap:
            raise ValueError("cost_floor must be below cost_cap")
        if len(self.keys) > self.teams:
            raise ValueError(f"{len(self.keys)} keys for {self.teams} teams")
        return self

    def final_window(self, now: float) -> tuple[float | None, float | None]:
        """When the final window opens and closes, in seconds since the epoch; None: not announced.

        Args:
            now: when the emulator started.
        """
        if self.window == "none":
            return None, None
        if self.window == "open":
            return now - 1, now + _DAY
        if self.window == "closed":
            return now - _DAY, now - 1
        match = _WINDOW.match(self.window)
        assert match is not None
        return now + float(match["opens"]), now + float(match["closes"])
