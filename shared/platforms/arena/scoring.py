"""The arena's formulas, for where it tells no result (Harness Arena Task API v1, "Scoring"). Pure."""

from __future__ import annotations

import math


def cost_score(cost: float, floor: float, cap: float) -> float:
    """``C``: 1 at or below the floor, 0 at or above the cap, falling with the logarithm of the cost between.

    Args:
        cost: US dollars that the run spent.
        floor: US dollars, above 0; the dashboard's figure.
        cap: US dollars, above the floor; the dashboard's figure.

    Raises:
        ValueError: floor and cap are not 0 < floor < cap.
    """
    if not 0 < floor < cap:
        raise ValueError(f"the cost floor must be above 0 and below the cap, got {floor:g} and {cap:g}")
    if cost <= floor:
        return 1.0
    if cost >= cap:
        return 0.0
    return 1.0 - math.log(cost / floor) / math.log(cap / floor)


def final_score(accuracy: float, cost: float) -> float:
    """``final = A · (0.5 + 0.5 · C)``, with accuracy ``A`` and cost score ``C`` in [0, 1]."""
    return accuracy * (0.5 + 0.5 * cost)
