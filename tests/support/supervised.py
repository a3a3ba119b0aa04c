"""A real pool for tests: an embedded Redis, and supervised Celery workers as processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from shared.pool.pool import Pool
from shared.settings import Settings
from tests.support import toy_platform, toy_solvers
from tests.support.playing import wait_for
from workers.lifeline import LIFELINE

ROOT = Path(__file__).parents[2]


class Supervised:
    """One `python -m workers.supervise` on this machine.

    Args:
        settings: what the workers get, by environment variables.
        folder: where the log goes.
        arguments: of the command.
        environment: more variables, for the solvers of a test.
        prefix: comes before the command (``ip netns exec NAME``).
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        *arguments: str,
        environment: dict[str, str] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> None:
        self.pool = Pool(settings)
        self.log = folder / f"workers-{os.urandom(3).hex()}.log"
        self.nodes: set[str] = set()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "workers.supervise", *arguments],
                cwd=ROOT,
                env={
                    **clean_environment(),
                    **variables_of(settings),
                    LIFELINE: "stdin",
                    **(environment or {}),
                },
                stdin=subprocess.PIPE,  # should the tests be killed, their workers leave
                stdout=log,
                stderr=log,
            )

    def wait_until_live(self, nodes: int, seconds: float = 40.0) -> None:
        """Wait for the first heartbeats of so many nodes."""
        wait_for(lambda: len(self.children()) == nodes, seconds, "the nodes start")
        pids = {child.pid for child in self.children()}
        wait_for(
            lambda: pids <= {beat.pid for beat in self.pool.fleet.live()}, seconds, f"{nodes} nodes beat"
        )

    def children(self, name: str = "") -> list[psutil.Process]:
        """The nodes' processes; with ``name`` those whose node is called so (``solve1``)."""
        try:
            found = psutil.Process(self.process.pid).children()
            return [child for child in found if f"{name}-" in " ".join(child.cmdline())]
        except psutil.NoSuchProcess:
            return []

    def events(self, *names: str) -> list[dict[str, object]]:
        """The log's events of these names."""
        found = []
        for line in self.log.read_text().splitlines():
            if line.startswith("{"):
                event = json.loads(line)
                if event["event"] in names:
                    found.append(event)
        return found

    def stop(self, number: int = signal.SIGTERM, seconds: float = 30.0) -> int:
        """End it and wait; kills what does not end. Returns the exit status."""
        children = self.children()
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            for child in psutil.wait_procs(children, timeout=5)[1]:
                child.kill()
            assert self.process.stdin
            self.process.stdin.close()
            self.pool.close()


def clean_environment() -> dict[str, str]:
    """This process's environment without settings of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SCRIMMAGE_")}


def toy_variables() -> dict[str, str]:
    """The variables that register the toy platform and its solvers."""
    return {"SCRIMMAGE_PLATFORMS": toy_platform.SETTING, "SCRIMMAGE_SOLVERS": toy_solvers.SETTING}


def variables_of(settings: Settings) -> dict[str, str]:
    """Settings as the environment variables that make them."""
    variables = {}
    for name in settings.model_fields_set:
        value = getattr(settings, name)
        text = value.get_secret_value() if hasattr(value, "get_secret_value") else value
        if text is not None:
            variables[f"SCRIMMAGE_{name.upper()}"] = str(text)
    return variables
