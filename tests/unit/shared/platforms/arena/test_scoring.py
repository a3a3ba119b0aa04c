from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.platforms.arena.scoring import cost_score, final_score

DOLLARS = st.floats(0, 100)


@pytest.mark.parametrize(
    ("cost", "score"), [(0.0, 1.0), (0.01, 1.0), (0.1, 0.5), (1.0, 0.0), (5.0, 0.0), (0.01 * 100**0.25, 0.75)]
)
def test_the_cost_score_falls_with_the_logarithm_between_floor_and_cap(cost: float, score: float) -> None:
    assert cost_score(cost, 0.01, 1.0) == pytest.approx(score)


@given(DOLLARS, DOLLARS)
def test_dearer_is_never_better(one: float, other: float) -> None:
    cheap, dear = sorted((one, other))
    assert 0.0 <= cost_score(dear, 0.02, 3.0) <= cost_score(cheap, 0.02, 3.0) <= 1.0


def test_it_is_the_formula_of_the_text() -> None:
    expected = 1 - (math.log(0.3) - math.log(0.02)) / (math.log(3.0) - math.log(0.02))
    assert cost_score(0.3, 0.02, 3.0) == pytest.approx(expected)


@pytest.mark.parametrize(("floor", "cap"), [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (-1.0, 1.0)])
def test_figures_that_cannot_be_are_refused(floor: float, cap: float) -> None:
    with pytest.raises(ValueError, match="floor"):
        cost_score(0.5, floor, cap)


def test_cost_is_half_of_the_final_score() -> None:
    assert final_score(0.8, 1.0) == pytest.approx(0.8)
    assert final_score(0.8, 0.0) == pytest.approx(0.4)
    assert final_score(0.62, 0.84) == pytest.approx(0.5704)
