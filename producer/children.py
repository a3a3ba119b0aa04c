"""Processes that a command starts for a pool of its own: the workers' supervisor, and Flower; and its Redis.

They end with the command, however it ends: their standard input is a pipe from it (``SCRIMMAGE_LIFELINE``).
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shared.deadline import Deadline
from shared.errors import SettingsError, Unavailable
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.pool.pool import Pool
    from shared.pool.server import RedisServer

Say = Callable[[str], None]

_WORKERS_UP_SECONDS = 60.0
_STOP_SECONDS = 20.0
_LOOK_SECONDS = 1.0
_SHOWN_LINES = 15


class Workers:
    """The supervisor of this machine's workers, which restarts its nodes; and who starts it again.

    Args:
        settings: the workers get these very settings, keys included.
        say: is told what happens, for a person.
    """

    def __init__(self, settings: Settings, say: Say) -> None:
        self._settings = settings
        self._log = settings.data / "worker.log"
        self._say = say
        self._stopping = threading.Event()
        self._process = self._start()
        self._keeper = threading.Thread(target=self._keep, name="workers", daemon=True)

    def wait_until_up(self, pool: Pool, before: Collection[str]) -> None:
        """Wait for the workers' first signs of life; from then on they are started again whenever they end.

        Args:
            before: nodes that were heard before these were started (perhaps the last signs of dead ones).

        Raises:
            Unavailable: they did not come up in time; shows the end of their log.
        """
        began = time.monotonic()
        deadline = Deadline.after(_WORKERS_UP_SECONDS)
        while not _serving(pool, before):
            if self._process.poll() is not None or deadline.passed:
                raise Unavailable(f"the workers did not come up; the end of {self._log}:\n{_tail(self._log)}")
            time.sleep(0.1)
        self._keeper.start()
        self._say(f"workers  up ({time.monotonic() - began:.1f} s, log {self._log})")

    def stop(self) -> None:
        self._stopping.set()
        if self._keeper.is_alive():
            self._keeper.join()
        stop(self._process)

    def _keep(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            if self._process.poll() is not None:
                self._say(f"the workers ended (log {self._log}); starting them again")
                self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return start([sys.executable, "-m", "workers.supervise", "--role", "both"], self._settings, self._log)


def _serving(pool: Pool, before: Collection[str]) -> bool:
    roles = {beat.role for beat in pool.fleet.live() if beat.node not in before}
    return bool(roles & {"solve", "both"}) and bool(roles & {"finish", "both"})


@contextmanager
def kept_alive(server: RedisServer, say: Say) -> Iterator[None]:
    """Revive an embedded Redis whenever it ends by itself: somebody kills it, memory runs out."""
    stopping = threading.Event()

    def keep() -> None:
        while not stopping.wait(_LOOK_SECONDS):
            if not server.alive:
                say(f"redis ended (log {server.log}); starting it again")
                try:
                    server.revive()
                except SettingsError as error:
                    say(str(error))

    keeper = threading.Thread(target=keep, name="redis", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stopping.set()
        keeper.join()


def start_flower(settings: Settings, say: Say) -> subprocess.Popen[bytes]:
    """Start Flower on a free port of the loopback interface, with a password of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    password = secrets.token_urlsafe(12)
    command = [sys.executable, "-m", "celery", "--app", "workers.app", "flower", "--address=127.0.0.1"]
    command += [f"--port={port}", "--persistent=True", f"--db={settings.data / 'flower.db'}"]
    environment = {"FLOWER_BASIC_AUTH": f"scrimmage:{password}"}
    process = start(command, settings, settings.data / "flower.log", environment)
    say(f"flower   http://127.0.0.1:{port} (user scrimmage, password {password})")
    return process


def start(
    command: list[str], settings: Settings, log: Path, extra: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own: Ctrl-C reaches this process alone, which then ends the child."""
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own command, no shell
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=_environment(settings) | {"SCRIMMAGE_LIFELINE": "stdin"} | (extra or {}),
            start_new_session=True,
        )


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a child warmly, then by force. Its standard input stays open until then."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _environment(settings: Settings) -> dict[str, str]:
    """The environment of a child that is to have these very settings."""
    env = dict(os.environ)
    for name, value in settings.model_dump(exclude_none=True).items():
        shown = value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)
        env[f"SCRIMMAGE_{name.upper()}"] = shown
    return env


def _tail(log: Path) -> str:
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:])
    except OSError as error:
        return f"(not readable: {error})"
