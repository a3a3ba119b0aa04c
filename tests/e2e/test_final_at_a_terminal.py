"""`scrimmage final` at a real terminal: the team's name is typed, or the final run does not begin."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from shared.pool.server import RedisServer
from tests.e2e.test_resume import account, terminal_for
from tests.support.emulated import ArenaHere

ACCEPTED = tuple(
    word
    for what in ("workers", "final slots", "solver", "keys", "working tree", "rehearsal")
    for word in ("--accept", what)
)
"""All that a pool without workers, in a folder without a repository, is told no for."""

CTRL_C, CTRL_D = "\x03", "\x04"

_COMMAND = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # whose keys send signals
from producer.cli.entry import run
run()
"""


class Typist:
    """A person at a terminal of her own, at which `scrimmage` runs."""

    def __init__(self, folder: Path, environment: dict[str, str], *words: str) -> None:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, *words],
            cwd=folder,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.shown = ""

    def wait_for(self, text: str, seconds: float = 60.0) -> None:
        """Read until the screen has shown a text."""
        end = time.monotonic() + seconds
        while text not in self.shown:
            assert time.monotonic() < end, self.shown[-2000:]
            assert self._read(), self.shown[-2000:]

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def code(self) -> int:
        """Wait for the end of the command; its exit code."""
        while self._read():
            pass
        return self._process.wait(30)

    def _read(self) -> bool:
        """Read what there is within a while. False: the command has left the terminal."""
        ready, _, _ = select.select([self._master], [], [], 30.0)
        assert ready, self.shown[-2000:]
        try:
            self.shown += os.read(self._master, 4096).decode(errors="replace")
        except OSError:  # how Linux tells that nobody is at the other end any more
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with RedisServer.start(tmp_path_factory.mktemp("redis")) as server:
        yield server.url


@pytest.fixture(scope="module")
def emulator() -> Iterator[ArenaHere]:
    with ArenaHere() as emulator:
        yield emulator


def sits_down(folder: Path, emulator: ArenaHere, redis: str) -> Typist:
    environment = terminal_for(folder, emulator, SCRIMMAGE_REDIS_URL=redis).environment()
    return Typist(folder, environment, "final", *ACCEPTED)


def posts(emulator: ArenaHere) -> int:
    count: int = account(emulator)["by_endpoint"].get("POST /runs", 0)
    return count


@pytest.mark.parametrize(
    ("keys", "code", "words"),
    [
        ("Team 2\n", 2, "'Team 2' is not the team's name (Team 1): nothing was started"),
        ("\n", 2, "'' is not the team's name (Team 1): nothing was started"),
        (CTRL_D, 2, "no team's name was typed: nothing was started"),
        (CTRL_C, 130, "nothing was started"),
    ],
    ids=["another name", "no name", "Ctrl-D", "Ctrl-C"],
)
def test_without_the_right_name_nothing_starts(
    tmp_path: Path, emulator: ArenaHere, redis: str, keys: str, code: int, words: str
) -> None:
    with sits_down(tmp_path, emulator, redis) as typist:
        typist.wait_for("Type the team's name (Team 1) to start it:")
        before = posts(emulator)
        typist.type(keys)
        assert typist.code() == code, typist.shown
        assert words in typist.shown
        assert posts(emulator) == before


def test_the_right_name_starts_it_and_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    with (
        ArenaHere() as emulator,
        RedisServer.start(tmp_path / "redis") as redis,
        sits_down(tmp_path / "person", emulator, redis.url) as typist,
    ):
        typist.wait_for("to start it:")
        assert posts(emulator) == 0
        typist.type(" Team 1 \n")
        typist.wait_for("has begun")
        assert posts(emulator) == 1
        typist.type(CTRL_C)
        assert typist.code() == 130, typist.shown
        assert "resume" in typist.shown
