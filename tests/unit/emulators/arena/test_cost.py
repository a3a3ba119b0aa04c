import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulators.arena.cost import CostBook, cost_score
from emulators.clock import Clock
from shared.models import Kind


def test_usage_is_counted_by_team_and_kind():
    clock = Clock(wall=lambda: 0.0)
    book = CostBook(clock)
    book.spend("a", Kind.DEV, 1.0)
    clock.advance(10)
    book.spend("a", Kind.DEV, 0.5)
    book.spend("a", Kind.FINAL, 7.0)
    assert [book.usage("a", Kind.DEV, at) for at in (-1, 0, 9.9, 10, 99)] == [0.0, 1.0, 1.0, 1.5, 1.5]
    assert book.usage("a", Kind.FINAL, 99) == 7.0
    assert book.usage("b", Kind.DEV, 99) == 0.0


def test_a_spend_shows_late():
    clock = Clock(wall=lambda: 0.0)
    book = CostBook(clock, lag=3.0)
    book.spend("a", Kind.DEV, 1.0)
    assert [book.visible("a", Kind.DEV, at) for at in (0, 2.9, 3)] == [0.0, 0.0, 1.0]


def test_old_spends_are_merged_and_none_is_lost(monkeypatch):
    monkeypatch.setattr("emulators.arena.cost._MOST_MOMENTS", 10)
    clock = Clock(wall=lambda: 0.0)
    book = CostBook(clock)
    for _ in range(95):
        clock.advance(1)
        book.spend("a", Kind.DEV, 1.0)
    assert book.usage("a", Kind.DEV, 95) == 95
    assert book.usage("a", Kind.DEV, 93) == 93
    assert len(book._spends["a", Kind.DEV][0]) <= 10


@pytest.mark.parametrize(("cost", "score"), [(0, 1), (0.01, 1), (0.1, 0.5), (1, 0), (9, 0)])
def test_the_cost_score_is_logarithmic_between_floor_and_cap(cost, score):
    assert cost_score(cost, 0.01, 1.0) == pytest.approx(score)


@given(st.floats(0, 1e3), st.floats(0, 1e3))
def test_more_cost_never_scores_better(one, other):
    low, high = sorted((one, other))
    assert cost_score(low, 0.02, 5.0) >= cost_score(high, 0.02, 5.0)
    assert 0 <= cost_score(high, 0.02, 5.0) <= 1
    assert math.isfinite(cost_score(low, 0.02, 5.0))
