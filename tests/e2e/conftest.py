"""A pool as a person brings it up, shared by the tests of a module: emulator, `scrimmage up`, Flower."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from emulators.serve import ArenaEmulator
from tests.support import toy_platform, toy_solvers
from tests.support.command import Terminal
from tests.support.emulated import ArenaHere


@dataclass(frozen=True)
class Playground:
    """A running pool, and a terminal in its folder."""

    terminal: Terminal
    emulator: ArenaEmulator
    flower: str
    flower_password: str
    redis_url: str


SOLVERS = (
    toy_solvers.SETTING
    + ",empty=tests.support.arena_solvers:Empty,careful=tests.support.arena_solvers:Careful"
)


def terminal_for(folder: Path, emulator: ArenaEmulator | ArenaHere, **variables: str) -> Terminal:
    return Terminal(
        folder,
        SCRIMMAGE_ARENA_URL=emulator.url,
        SCRIMMAGE_ARENA_KEY=emulator.key,
        SCRIMMAGE_SOLVERS=SOLVERS,
        SCRIMMAGE_PLATFORMS=toy_platform.SETTING,
        TOY_SECONDS="1.0",
        **variables,
    )


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    with ArenaEmulator.start() as emulator:
        folder = tmp_path_factory.mktemp("playground")
        terminal = terminal_for(folder, emulator, TOY_GATE=str(folder / "gate"))
        up = terminal.start("up", "--flower")
        try:
            said = up.wait_for_text("ready")
            flower = re.search(r"flower\s+(\S+) \(user scrimmage, password (\S+)\)", said)
            redis = re.search(r"SCRIMMAGE_REDIS_URL=(\S+)", said)
            assert flower is not None
            assert redis is not None
            yield Playground(terminal, emulator, flower[1], flower[2], redis[1])
        finally:
            ended = up.interrupt()
        assert ended.code == 0, ended.err
