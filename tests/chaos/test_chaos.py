"""Every disturbance once, with the first seed: twenty in CI, the others by name.

`python -m tests.chaos` plays more of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.defects import DEFECTS
from tests.chaos.invariants import NAMES
from tests.chaos.play import CATALOGUE, Play, play

ROOT = Path(__file__).parents[2]


def _scenarios(*, quick: bool) -> list[str]:
    return sorted(name for name, disturbance in CATALOGUE.items() if disturbance.quick is quick)


@pytest.mark.chaos
@pytest.mark.parametrize("name", _scenarios(quick=True))
def test_what_must_hold_holds_whatever_is_broken(name: str) -> None:
    _assert_held(name)


@pytest.mark.optin
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", _scenarios(quick=False))
def test_it_holds_in_the_longer_scenarios_too(name: str) -> None:
    missing = CATALOGUE[name].setup.why_not()
    assert missing is None, f"this machine cannot play {name}: {missing}"
    _assert_held(name)


@pytest.mark.optin
@pytest.mark.parametrize("name", sorted(DEFECTS))
def test_every_invariant_names_its_defect(name: str) -> None:
    played = play(Play(DEFECTS[name].scenario, seed=1, defect=name))
    assert DEFECTS[name].breaks in played.broken, played.found


def test_there_is_a_defect_for_every_invariant() -> None:
    assert {defect.breaks for defect in DEFECTS.values()} == set(NAMES)


def _assert_held(name: str) -> None:
    played = play(Play(name, seed=1))
    assert not played.broken, {invariant: lines for invariant, lines in played.found.items() if lines}
