"""Redis loses everything in the middle of a run: the run goes on from what the platform shows."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from emulators.serve import ArenaEmulator
from shared.pool.connection import connect
from tests.support.command import Terminal
from tests.support.emulated import ArenaHere
from tests.support.final_solvers import SETTING
from tests.support.playing import wait_for

pytestmark = pytest.mark.chaos

ACCEPTED = ("--accept", "rehearsal", "--accept", "working tree", "--confirm", "Team 1")


def terminal_for(folder: Path, emulator: ArenaEmulator | ArenaHere, **variables: str) -> Terminal:
    return Terminal(
        folder,
        SCRIMMAGE_ARENA_URL=emulator.url,
        SCRIMMAGE_ARENA_KEY=emulator.key,
        SCRIMMAGE_SOLVERS=SETTING,
        SCRIMMAGE_PROCESSES="1",
        **variables,
    )


def account(emulator: ArenaEmulator | ArenaHere) -> dict[str, Any]:
    page: dict[str, Any] = emulator.books()["accounts"].get("team-1", {})
    return page


def effects(emulator: ArenaEmulator) -> dict[str, int]:
    found: dict[str, int] = account(emulator).get("effects", {})
    return found


def submits(emulator: ArenaEmulator | ArenaHere) -> dict[str, int]:
    found: dict[str, int] = account(emulator).get("submits", {})
    return found


def assert_each_once(emulator: ArenaEmulator | ArenaHere, tasks: int = 30) -> None:
    """Every task submitted, none twice, and no effect twice."""
    assert len(submits(emulator)) == tasks
    assert set(submits(emulator).values()) == {1}
    assert not account(emulator).get("duplicate_effects")


def test_a_final_run_outlives_its_machine_and_an_empty_redis(tmp_path: Path) -> None:
    with ArenaEmulator.start(deadline=300) as emulator:
        terminal = terminal_for(tmp_path, emulator)
        first = terminal.start("final", "--solver", "unhurried", *ACCEPTED)
        first.wait_for_text("has begun")
        wait_for(lambda: len(submits(emulator)) >= 5, 60, "some answers are banked")
        first.kill()
        _wait_until_free(tmp_path / ".scrimmage" / "redis")
        shutil.rmtree(tmp_path / ".scrimmage" / "redis")

        shown = terminal.run("status", "--json").json["runs"]
        assert [(row["here"], row["there"]) for row in shown] == [("lost", "active, final")]
        assert "brings it back" in shown[0]["plan"]
        second = terminal.run("resume", "--json")

        assert second.code == 0, second.err
        (row,) = second.json["runs"]
        assert (row["status"], row["kind"], row["tasks_submitted"]) == ("finished", "final", 30)
        assert_each_once(emulator)
        receipt = (tmp_path / "archive" / "arena" / row["run_id"] / "receipt.txt").read_text()
        assert "every task was submitted" in receipt
        assert "Team 1" in receipt
        assert not list((tmp_path / ".scrimmage" / "opened").iterdir())


def test_a_run_goes_on_when_redis_is_emptied_under_it(tmp_path: Path) -> None:
    with ArenaEmulator.start() as emulator:
        terminal = terminal_for(tmp_path, emulator)
        up = terminal.start("up")
        try:
            found = re.search(r"SCRIMMAGE_REDIS_URL=(\S+)", up.wait_for_text("ready"))
            assert found is not None
            run = terminal.start("run", "--solver", "unhurried", "--json")
            wait_for(lambda: len(effects(emulator)) >= 2, 60, "some effects are done")
            with connect(found[1]) as client:
                client.flushall()
            ended = run.ended()
            assert ended.code == 0, ended.err
            assert ended.json["runs"][0]["tasks_submitted"] == 30
            assert_each_once(emulator)
        finally:
            up.interrupt()


def _wait_until_free(folder: Path) -> None:
    """Until the server of a killed command is gone."""
    from shared.pool.server import RedisServer

    wait_for(lambda: RedisServer.running(folder) is None, 30, "the embedded server ends")
