"""A ledger whose clock a test moves by hand."""

from __future__ import annotations

import pytest

from shared.pool.connection import Patient
from shared.pool.ledger import Ledger
from tests.support.ledger import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def ledger(patient: Patient, clock: HandClock) -> Ledger:
    return Ledger(patient, clock=clock)
