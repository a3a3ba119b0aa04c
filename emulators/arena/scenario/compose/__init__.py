"""Writes the files that the tasks of a scenario share: a world in one look."""

from __future__ import annotations

import random

from emulators.arena.scenario.compose import recordings, registers, sheets, writings
from emulators.arena.scenario.looks import Look
from emulators.arena.scenario.streams import stream
from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.view import View
from emulators.arena.scenario.world import World


def compose(theme: Theme, world: World, look: Look, seed: int, variation: int) -> View:
    """Write every shared file of the scenario, each from its own stream."""

    def rng(part: str) -> random.Random:
        return stream(theme.name, seed, variation, "view", part)

    view = View(theme, world, look)
    registers.write_operator_files(view)
    registers.write_registers(view, rng("registers"))
    registers.write_stale_copies(view, rng("stale"))
    sheets.write_transfers(view, rng("transfers"))
    sheets.write_budget(view, rng("budget"))
    writings.write_papers(view, rng)
    writings.write_messages(view, rng("messages"))
    writings.write_strays(view, rng)
    recordings.write_screens(view, rng("screens"))
    recordings.write_logs(view, rng)
    return view
