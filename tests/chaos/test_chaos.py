"""Every disturbance once, with the first seed. `python -m tests.chaos` plays more of them."""

from __future__ import annotations

import pytest

from tests.chaos.play import CATALOGUE, play

LONG = {
    "far-away",
    "final-with-everything",
    "finisher-killed-under-real-leases",
    "worker-killed-under-real-leases",
}
"""Played by the command alone: they take longest."""


@pytest.mark.chaos
@pytest.mark.parametrize("name", sorted(CATALOGUE.keys() - LONG))
def test_what_must_hold_holds_whatever_is_broken(name: str) -> None:
    played = play(name, seed=1)
    assert played.passed, {invariant: lines for invariant, lines in played.found.items() if lines}
