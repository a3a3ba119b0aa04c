"""What a scenario starts with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shared.models import Kind
from tests.chaos import clock, network
from tests.support.played_arena import Rule


@dataclass(frozen=True)
class Setup:
    """What a scenario starts with.

    Args:
        tasks: of each run.
        kind: of its runs.
        solver: ``steady`` plays the small world, ``agent`` the emulator's own scenarios.
        seconds: that each solve of ``steady`` takes.
        lease: seconds of a lease; the pool's default is 10.
        machines: worker machines, each with a node to finish and one for a final run.
        processes: nodes to solve, on each of them.
        threads: solves at a time on each such node.
        links: how machines reach Redis and platform: directly, each through proxies of its own, or each from
            a network of its own by cables.
        clocks: every machine has a wall clock of its own.
        rules: faults of the platform.
        model_rules: faults of the model's endpoint.
        deadline: seconds of a final run.
        skew: seconds by which the platform's clock is ahead.
        spare: tasks that may end without a submission.
        deaths: so many finalizers die, each at a step of its own.
    """

    tasks: int = 12
    kind: Kind = Kind.DEV
    solver: Literal["steady", "agent"] = "steady"
    seconds: float = 0.5
    lease: float = 2.0
    machines: int = 1
    processes: int = 1
    threads: int = 4
    links: Literal["direct", "proxies", "cables"] = "direct"
    clocks: bool = False
    rules: tuple[Rule, ...] = ()
    model_rules: tuple[Rule, ...] = ()
    deadline: float = 60.0
    skew: float = 0.0
    spare: int = 0
    deaths: int = 0

    def why_not(self) -> str | None:
        """Why there can be no such scenario on this machine; None where there can."""
        if self.links == "cables" and (missing := network.why_not()):
            return missing
        return clock.why_not() if self.clocks else None
