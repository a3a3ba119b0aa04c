"""Every disturbance once, with the first seed: twenty in CI, the others by name.

`python -m tests.chaos` plays more of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.chaos.defects import DEFECTS
from tests.chaos.invariants import NAMES
from tests.chaos.play import CATALOGUE, Play, Played, play_all
from tests.support.playing import wait_for

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
    played = _played(Play(DEFECTS[name].scenario, seed=1, defect=name))
    assert DEFECTS[name].breaks in played.broken, played.found


def test_there_is_a_defect_for_every_invariant() -> None:
    assert {defect.breaks for defect in DEFECTS.values()} == set(NAMES)


@pytest.mark.chaos
def test_ctrl_c_ends_the_scenarios_under_way_with_all_their_processes() -> None:
    command = subprocess.Popen(
        [sys.executable, "-m", "tests.chaos", "--jobs", "2", "--only", "model-down-for-a-minute"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(_workers_of(command.pid)) >= 2, 30, "workers are at work")
    family = psutil.Process(command.pid).children(recursive=True)
    os.killpg(command.pid, signal.SIGINT)  # as a terminal does
    out, err = command.communicate(timeout=30)
    assert command.returncode == 130, err
    assert "scenarios held" in out
    wait_for(lambda: not any(map(_lives, family)), 5, "its last process ends")


def _workers_of(pid: int) -> list[psutil.Process]:
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "workers.supervise" in process.cmdline():
                found.append(process)
    return found


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def _played(what: Play) -> Played:
    """In a process of its own: whoever dies leaves connections open, and pytest would complain of each."""
    (played,) = play_all([what], jobs=1)
    return played


def _assert_held(name: str) -> None:
    played = _played(Play(name, seed=1))
    assert not played.broken, {invariant: lines for invariant, lines in played.found.items() if lines}
