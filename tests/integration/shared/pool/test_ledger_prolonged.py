"""A run that is out of time by Redis's clock, but not by its platform's."""

from __future__ import annotations

import pytest

from shared.models import RunRef, RunStatus
from shared.pool.ledger import Ledger
from tests.support.ledger import LEASE, HandClock, lease, lease_run, open_final

HOUR = 3600.0


@pytest.fixture
def leapt(ledger: Ledger, clock: HandClock) -> RunRef:
    """A final run with half an hour left, whose Redis has just been set an hour ahead."""
    ref = open_final(ledger, 1800.0, slack=15.0)
    assert not ledger.out_of_time(ref)
    clock.advance(HOUR)
    assert ledger.out_of_time(ref)
    return ref


def test_it_goes_on_for_as_long_as_the_platform_says(ledger: Ledger, clock: HandClock, leapt: RunRef) -> None:
    assert ledger.prolong(leapt, 1700.0)
    assert not ledger.out_of_time(leapt)
    assert not ledger.due_to_seal(leapt)
    assert lease(ledger, leapt).seconds_left > LEASE
    clock.advance(1690.0)
    assert ledger.out_of_time(leapt)
    assert ledger.due_to_seal(leapt)


def test_what_the_rounding_of_clocks_adds_prolongs_nothing(ledger: Ledger, clock: HandClock) -> None:
    ref = open_final(ledger, 1800.0, slack=15.0)
    clock.advance(1790.0)
    assert ledger.out_of_time(ref)
    assert not ledger.prolong(ref, 12.0)
    assert ledger.due_to_seal(ref)


def test_a_deadline_is_never_brought_forward(ledger: Ledger) -> None:
    ref = open_final(ledger, 1800.0)
    assert not ledger.prolong(ref, 100.0)
    state = ledger.run(ref)
    assert state is not None
    assert state.seconds_left == pytest.approx(1800.0)


def test_a_run_that_was_closed_by_hand_stays_closed(ledger: Ledger, leapt: RunRef) -> None:
    ledger.close(leapt)
    assert not ledger.out_of_time(leapt)
    assert not ledger.prolong(leapt, 1700.0)
    ledger.failed(lease_run(ledger, leapt), "no")
    assert not ledger.prolong(leapt, 1700.0)
    state = ledger.run(leapt)
    assert state is not None
    assert state.status is RunStatus.FAILED
