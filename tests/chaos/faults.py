"""Faults of platform and model that several scenarios use."""

from __future__ import annotations

from tests.support.played_arena import Rule

SUBMIT = "POST /runs/*/tasks/*/submit"
CALL = "POST /runs/*/tasks/*/tools/"


def erratic(endpoint: str, times: int = 1) -> tuple[Rule, ...]:
    """5 % errors, 5 % lost answers, 2 % hangs of 10 s, 2 % cut-off bodies, 2 % 429s; ``times`` as many."""
    return (
        {"endpoint": endpoint, "probability": times * 0.05, "fault": "status"},
        {"endpoint": endpoint, "probability": times * 0.05, "fault": "drop", "when": "after"},
        {"endpoint": endpoint, "probability": times * 0.02, "fault": "hang", "seconds": 10},
        {"endpoint": endpoint, "probability": times * 0.02, "fault": "truncate"},
        {"endpoint": endpoint, "probability": times * 0.02, "fault": "too_many"},
    )


ERRATIC = erratic("* /**")
"""On every endpoint of the platform."""


def hang(endpoint: str, nth: int, seconds: float, when: str = "before") -> Rule:
    """One request gets no answer for a while, before or after it is carried out: a moment to kill at."""
    return {"endpoint": endpoint, "nth": nth, "fault": "hang", "seconds": seconds, "when": when}
