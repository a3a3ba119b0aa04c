"""What a disturbance is, and the catalogue of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.invariants import NAMES
from tests.chaos.setup import Setup
from tests.chaos.stage import Stage


@dataclass(frozen=True)
class Disturbance:
    """One way to break things.

    Args:
        name: as the table has it.
        setup: what there is before.
        act: opens runs and disturbs them.
        excused: invariants that nobody can keep here; the docstring of ``act`` says why.
        seconds: in which the runs must have ended, from the end of the disturbance.
        quick: CI plays it.
    """

    name: str
    setup: Setup
    act: Callable[[Stage], None]
    excused: frozenset[str]
    seconds: float
    quick: bool


CATALOGUE: dict[str, Disturbance] = {}


def disturbance(
    setup: Setup | None = None, *, excused: tuple[str, ...] = (), seconds: float = 60.0, quick: bool = False
) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
    """Enter a function into the catalogue under its own name."""
    if not set(excused) <= set(NAMES):
        raise ValueError(f"no such invariants: {excused}")

    def enter(act: Callable[[Stage], None]) -> Callable[[Stage], None]:
        name = act.__name__.replace("_", "-")
        CATALOGUE[name] = Disturbance(name, setup or Setup(), act, frozenset(excused), seconds, quick)
        return act

    return enter
