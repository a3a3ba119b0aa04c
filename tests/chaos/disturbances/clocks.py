"""Clocks that differ, and clocks that jump. Times in the ledger are Redis's, deadlines the platform's."""

from __future__ import annotations

from shared.models import Kind
from tests.chaos.disturbance import disturbance
from tests.chaos.setup import Setup
from tests.chaos.stage import Stage

HOUR = 3600


@disturbance(Setup(kind=Kind.FINAL, tasks=12, seconds=0.3, deadline=40.0, skew=HOUR), quick=True)
def platform_clock_ahead(stage: Stage) -> None:
    """The platform's clock is an hour ahead of ours."""
    stage.open()


@disturbance(Setup(kind=Kind.FINAL, tasks=12, seconds=0.3, deadline=40.0, skew=-HOUR))
def platform_clock_behind(stage: Stage) -> None:
    """The platform's clock is an hour behind ours."""
    stage.open()


@disturbance(Setup(kind=Kind.FINAL, tasks=20, seconds=1.0, machines=2, clocks=True))
def clock_leaps_ahead(stage: Stage) -> None:
    """The wall clock of one of two machines jumps an hour ahead while it works."""
    _jump(stage, HOUR)


@disturbance(Setup(kind=Kind.FINAL, tasks=20, seconds=1.0, machines=2, clocks=True))
def clock_falls_back(stage: Stage) -> None:
    """The wall clock of one of two machines jumps an hour back while it works."""
    _jump(stage, -HOUR)


def _jump(stage: Stage, seconds: int) -> None:
    ref = stage.open()
    stage.until_leased(ref, 5)
    stage.pause(0, 1)
    clock = stage.machines[stage.chance.randrange(2)].clock
    assert clock is not None
    clock.jump(seconds)
