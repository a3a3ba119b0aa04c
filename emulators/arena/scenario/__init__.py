"""Scenarios of the arena emulator: a world that is true, rendered as messy files, and tasks about it.

``build(theme, seed, variation)`` gives a ``Scenario``; ``effects`` carries out state-changing tools on a
task's copy of the workspace; ``scoring`` grades a submission. See docs/scenario.md.
"""

from emulators.arena.scenario.build import build
from emulators.arena.scenario.model import Scenario, ScenarioTask

__all__ = ["Scenario", "ScenarioTask", "build"]
