"""The same theme, seed and variation give the same bytes in every process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from emulators.arena.scenario import Scenario, build

_PROGRAM = (
    "import sys; from tests.integration.emulators.arena.scenario.test_determinism import digest; "
    "from emulators.arena.scenario import build; print(digest(build(sys.argv[1], 5, 9)))"
)


def digest(scenario: Scenario) -> str:
    """A hash over everything that a scenario holds. Sets are sorted: their order is nobody's promise."""
    told = (
        sorted(scenario.blobs.items()),
        scenario.tasks,
        sorted(scenario.threat_intel.items()),
        sorted(scenario.agents),
        sorted(scenario.tokens),
        sorted(scenario.image_texts.items()),
        scenario.containment_path,
    )
    return hashlib.sha256(repr(told).encode()).hexdigest()


@pytest.mark.parametrize("theme", ["hub", "harbour"])
def test_processes_with_different_hash_seeds_build_the_same_bytes(theme: str) -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", _PROGRAM, theme],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout.strip()
        for hash_seed in ("0", "4711")
    }
    assert digests == {digest(build(theme, 5, 9))}


def test_blobs_are_named_after_their_bytes() -> None:
    scenario = build("hub", 5, 9)
    assert all(hashlib.sha256(data).hexdigest() == name for name, data in scenario.blobs.items())
