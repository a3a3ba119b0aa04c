"""The command `scrimmage` as a person uses it: a process with a folder and an environment of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.playing import wait_for
from tests.support.supervised import ROOT, clean_environment

SCRIMMAGE = [sys.executable, "-c", "from producer.cli.entry import run; run()"]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Terminal:
    """A folder and an environment in which commands are started.

    Args:
        folder: the working folder of every command; the archive and the data folder are made in it.
        variables: beside a clean environment.
    """

    def __init__(self, folder: Path, **variables: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.variables = variables

    def run(self, *arguments: str, seconds: float = 90.0, **variables: str) -> Ended:
        """Run a command to its end."""
        done = subprocess.run(
            [*SCRIMMAGE, *arguments],
            cwd=self.folder,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, **variables: str) -> Running:
        """Start a command and go on."""
        return Running(self, arguments, variables)

    def environment(self, **variables: str) -> dict[str, str]:
        return {
            **clean_environment(),
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "200",
            **self.variables,
            **variables,
        }


class Running:
    """A command under way. Its output goes to files, so that no pipe ever fills."""

    def __init__(self, terminal: Terminal, arguments: tuple[str, ...], variables: dict[str, str]) -> None:
        stem = terminal.folder / f"command-{os.urandom(3).hex()}"
        self._out, self._err = stem.with_suffix(".out"), stem.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [*SCRIMMAGE, *arguments],
                cwd=terminal.folder,
                env=terminal.environment(**variables),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def err(self) -> str:
        return self._err.read_text(errors="replace")

    def wait_for_text(self, text: str, seconds: float = 60.0) -> str:
        """Wait until stderr shows a text; gives all of stderr."""
        wait_for(lambda: text in self.err or self.process.poll() is not None, seconds, f"{text!r} shows")
        assert text in self.err, self.err
        return self.err

    def interrupt(self, seconds: float = 60.0) -> Ended:
        """Press Ctrl-C and wait for the end."""
        self.process.send_signal(signal.SIGINT)
        return self.ended(seconds)

    def ended(self, seconds: float = 90.0) -> Ended:
        code = self.process.wait(seconds)
        return Ended(code, self._out.read_text(), self.err)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()
