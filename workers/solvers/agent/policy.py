"""How much effort a task gets, by its level. The one place where that is decided.

``SCRIMMAGE_AGENT_…`` variables (or lines of ``.env``) change the defaults, as in
``SCRIMMAGE_AGENT_REPAIRS='{"1": 0, "3": 3}'``; a solver of your own may hand its own ``Policy`` to ``Agent``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from shared.errors import SettingsError

_Value = TypeVar("_Value")


def _by_level(value: object) -> object:
    """A JSON object, level → value, as a variable holds it."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError('must be a JSON object, level to value: {"1": 0, "3": 3}') from None


_Counts = Annotated[dict[int, Annotated[int, Field(ge=0)]], NoDecode, BeforeValidator(_by_level)]
_Amounts = Annotated[dict[int, Annotated[float, Field(ge=0)]], NoDecode, BeforeValidator(_by_level)]

HARDEST = 3
"""Level of a task whose platform tells none: too little effort costs an answer, too much a little money."""


@dataclass(frozen=True)
class Effort:
    """What one task may take.

    Args:
        repairs: how often a plan that failed its checks goes back to the model.
        readings: how often the model may first ask for files.
        loop_steps: rounds of the tool loop, after the repairs.
        loop_usd: what the loop may cost, in US dollars.
        plan_tokens: length of an answer, in tokens.
    """

    repairs: int
    readings: int
    loop_steps: int
    loop_usd: float
    plan_tokens: int


class Policy(BaseSettings):
    """Effort by level; a level that is not named gets that of the nearest lower one."""

    model_config = SettingsConfigDict(
        env_prefix="SCRIMMAGE_AGENT_", env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    repairs: _Counts = Field(default={1: 1, 2: 2})
    readings: _Counts = Field(default={1: 1, 3: 2})
    loop_steps: _Counts = Field(default={1: 4, 2: 6, 3: 10})
    loop_usd: _Amounts = Field(default={1: 0.005, 2: 0.01, 3: 0.02})
    plan_tokens: int = Field(2500, ge=100)
    excerpt_characters: int = Field(1500, ge=0)
    """Of documents that mention what the task names; they go into the prompt. 0: none."""
    read_characters: int = Field(12_000, ge=1000)
    """Of files that the model asks for, in one answer."""

    @classmethod
    def load(cls) -> Policy:
        """The policy of this machine. Raises SettingsError for a value that cannot be read."""
        try:
            return cls()
        except ValidationError as error:
            row = error.errors(include_input=False, include_url=False)[0]
            name = "_".join(map(str, row["loc"][:1])).upper()
            problem = row["msg"].removeprefix("Value error, ")
            raise SettingsError(f"SCRIMMAGE_AGENT_{name}: {problem}") from None

    def effort(self, level: int | None) -> Effort:
        """What a task of a level may take."""
        asked = HARDEST if level is None else level
        return Effort(
            repairs=_at(self.repairs, asked, 1),
            readings=_at(self.readings, asked, 1),
            loop_steps=_at(self.loop_steps, asked, 4),
            loop_usd=_at(self.loop_usd, asked, 0.005),
            plan_tokens=self.plan_tokens,
        )


def _at(by_level: dict[int, _Value], level: int, default: _Value) -> _Value:
    below = [known for known in by_level if known <= level]
    return by_level[max(below)] if below else default
