"""What a team's model keys have spent, and what a run costs by that.

Harness Arena Task API v1, "Scoring": "Run cost is your key's usage at finish minus at run start".
"""

from __future__ import annotations

import math
from bisect import bisect_right

from emulators.clock import Clock
from shared.models import Kind

_MOST_MOMENTS = 100_000
"""Older spends of a key are merged into its starting total."""


class CostBook:
    """Usage of each team's keys over time, in US dollars: a dev key for dev runs, an eval key for finals.

    Args:
        clock: the emulator's.
        lag: seconds after which a spend becomes visible ("OpenRouter usage can lag a few seconds").
    """

    def __init__(self, clock: Clock, lag: float = 0.0) -> None:
        self._clock = clock
        self._lag = lag
        self._spends: dict[tuple[str, Kind], tuple[list[float], list[float]]] = {}

    def spend(self, team: str, kind: Kind, usd: float) -> None:
        """The team's key for runs of ``kind`` spent ``usd`` now."""
        moments, totals = self._spends.setdefault((team, kind), ([-math.inf], [0.0]))
        moments.append(self._clock.now())
        totals.append(totals[-1] + usd)
        if len(moments) > _MOST_MOMENTS:
            del moments[: _MOST_MOMENTS // 2], totals[: _MOST_MOMENTS // 2]
            moments[0] = -math.inf

    def usage(self, team: str, kind: Kind, at: float) -> float:
        """What the key had spent by the moment ``at`` (seconds since the epoch), once all is settled."""
        moments, totals = self._spends.get((team, kind), ([-math.inf], [0.0]))
        return totals[bisect_right(moments, at) - 1]

    def visible(self, team: str, kind: Kind, at: float) -> float:
        """What the key shows to who looks at that moment: the last ``lag`` seconds are missing."""
        return self.usage(team, kind, at - self._lag)


def cost_score(cost: float, floor: float, cap: float) -> float:
    """1 at or below ``floor``, 0 at or above ``cap``, log in between (the text's "Scoring")."""
    if cost <= floor:
        return 1.0
    if cost >= cap:
        return 0.0
    return 1.0 - (math.log(cost) - math.log(floor)) / (math.log(cap) - math.log(floor))
