"""A whole pool on this machine: embedded Redis, worker processes, and where asked for Flower.

`up` keeps one running; `run`, `sweep` and `demo` bring up their own where no other is configured or running.
A running local pool announces itself in ``pool.json`` in the data folder, so that other commands of the same
folder use it. What was begun is kept in the data folder: the next pool of the folder goes on with it.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.deadline import Deadline
from shared.errors import Unavailable
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.pool.pool import Pool

Say = Callable[[str], None]

_WORKERS_UP_SECONDS = 60.0
_STOP_SECONDS = 20.0
_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class LocalPool:
    """A pool that this process started. ``settings`` lead to it; ``flower`` is its URL where one runs."""

    settings: Settings
    pool: Pool
    flower: str | None = None
    flower_password: str | None = None


@contextmanager
def local_pool(
    settings: Settings, say: Say, *, workers: bool = True, flower: bool = False
) -> Iterator[LocalPool]:
    """Bring up what the settings do not name already, and stop it at the end.

    Args:
        settings: ``redis_url`` None: an embedded server in ``settings.data`` is started.
        say: is told each step, for a person.
        workers: start worker processes here.
        flower: start Flower on a free port of the loopback interface, with a password of its own.

    Raises:
        SettingsError: the data folder is in use, the port is taken, no server binary was found.
        Unavailable: the workers did not come up in time; names their log.
    """
    from shared.pool.server import RedisServer

    settings.data.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if settings.redis_url is None:
            began = time.monotonic()
            server = stack.enter_context(RedisServer.start(settings.data / "redis"))
            settings = _with(settings, redis_url=server.url)
            stack.enter_context(_announced(settings))
            say(f"redis    {server.url} ({(time.monotonic() - began) * 1000:.0f} ms, log {server.log})")
        pool = stack.enter_context(_connection(settings))
        if workers:
            _start_workers(settings, pool, say, stack)
        url = password = None
        if flower:
            password = secrets.token_urlsafe(12)
            url = _start_flower(settings, password, say, stack)
        yield LocalPool(settings, pool, url, password)


def running_pool(settings: Settings) -> Settings | None:
    """Settings of the local pool that another command of this folder has running; None: there is none."""
    from shared.pool.server import RedisServer

    if settings.redis_url is not None:
        return None
    try:
        found = json.loads(_announcement(settings).read_text())
        os.kill(int(found["pid"]), 0)
        url = str(found["redis_url"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # After a crash the pid may be another process's by now; the lock on the folder is nobody else's.
    return _with(settings, redis_url=url) if RedisServer.running(settings.data / "redis") == url else None


def _with(settings: Settings, **changes: Any) -> Settings:
    return settings.model_copy(update=changes)


def _announcement(settings: Settings) -> Path:
    return settings.data / "pool.json"


@contextmanager
def _announced(settings: Settings) -> Iterator[None]:
    path = _announcement(settings)
    path.write_text(json.dumps({"pid": os.getpid(), "redis_url": settings.redis_url}))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def environment(settings: Settings) -> dict[str, str]:
    """The environment of a child process that is to have these very settings, keys included."""
    given = settings.model_dump(exclude_none=True)
    env = dict(os.environ)
    for name, value in given.items():
        shown = value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)
        env[f"SCRIMMAGE_{name.upper()}"] = shown
    return env


def _start_workers(settings: Settings, pool: Pool, say: Say, stack: ExitStack) -> None:
    log = settings.data / "worker.log"
    began = time.monotonic()
    others = {beat.node for beat in pool.fleet.live()}
    workers = _Workers(settings, log, say)
    stack.callback(workers.stop)
    deadline = Deadline.after(_WORKERS_UP_SECONDS)
    while not _serving(pool, others):
        if workers.ended or deadline.passed:
            raise Unavailable(f"the workers did not come up; the end of {log}:\n{_tail(log)}")
        time.sleep(0.1)
    workers.keep()
    say(f"workers  up ({time.monotonic() - began:.1f} s, log {log})")


class _Workers:
    """The workers' supervisor, which restarts its nodes; and who starts the supervisor again."""

    def __init__(self, settings: Settings, log: Path, say: Say) -> None:
        self._settings = settings
        self._log = log
        self._say = say
        self._stopping = threading.Event()
        self._process = self._spawn()
        self._keeper = threading.Thread(target=self._keep, name="workers", daemon=True)

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def keep(self) -> None:
        """From now on, start it again whenever it ends (somebody kills it, memory runs out)."""
        self._keeper.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._keeper.is_alive():
            self._keeper.join()
        _stop(self._process)

    def _keep(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            if self.ended:
                self._say(f"the workers ended (log {self._log}); starting them again")
                self._process = self._spawn()

    def _spawn(self) -> subprocess.Popen[bytes]:
        return _spawn(
            [sys.executable, "-m", "workers.supervise", "--role", "both"], self._settings, self._log
        )


def _serving(pool: Pool, others: Collection[str]) -> bool:
    """True once workers live beside those that were seen before (perhaps the last signs of dead ones)."""
    roles = {beat.role for beat in pool.fleet.live() if beat.node not in others}
    return bool(roles & {"solve", "both"}) and bool(roles & {"finish", "both"})


def _start_flower(settings: Settings, password: str, say: Say, stack: ExitStack) -> str:
    port = _free_port()
    command = [sys.executable, "-m", "celery", "--app", "workers.app", "flower"]
    command += [
        "--address=127.0.0.1",
        f"--port={port}",
        "--persistent=True",
        f"--db={settings.data / 'flower.db'}",
    ]
    env = {"FLOWER_BASIC_AUTH": f"scrimmage:{password}"}
    stack.callback(_stop, _spawn(command, settings, settings.data / "flower.log", env))
    url = f"http://127.0.0.1:{port}"
    say(f"flower   {url} (user scrimmage, password {password})")
    return url


def _spawn(
    command: list[str], settings: Settings, log: Path, extra: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own: Ctrl-C reaches this process alone, which then stops the child.

    The child's standard input is a pipe: it ends with this process, however this process ends.
    """
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own command, no shell
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=environment(settings) | {"SCRIMMAGE_LIFELINE": "stdin"} | (extra or {}),
            start_new_session=True,
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a child warmly, then by force; its standard input stays open until then (see ``_spawn``)."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _tail(log: Path, lines: int = 15) -> str:
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError as error:
        return f"(not readable: {error})"


@contextmanager
def any_pool(settings: Settings, say: Say, *, workers: bool = True) -> Iterator[LocalPool]:
    """The pool that the settings name, or the one running in this folder, or one of our own.

    A configured pool needs live workers already (``health.require_workers`` says so); our own brings them.
    Our own stays up until no run of another command is in flight on it.
    """
    found = settings if settings.redis_url is not None else running_pool(settings)
    if found is not None:
        with _connection(found) as pool:
            yield LocalPool(found, pool)
        return
    with local_pool(settings, say, workers=workers) as own:
        yield own
        if workers:
            _wait_for_others(own.pool, say)


@contextmanager
def connected(settings: Settings) -> Iterator[LocalPool]:
    """A pool that is there already, or the embedded Redis of this folder without workers, only to look at."""
    with any_pool(settings, lambda _: None, workers=False) as found:
        yield found


@contextmanager
def _connection(settings: Settings) -> Iterator[Pool]:
    from shared.pool.pool import Pool

    pool = Pool.connect(settings)
    try:
        yield pool
    finally:
        pool.close()


def _wait_for_others(pool: Pool, say: Say) -> None:
    said = False
    while any(not state.status.final for state in pool.ledger.runs()):
        if not said:
            say("another command still plays on this pool: it stays up until then (Ctrl-C stops it now)")
            said = True
        time.sleep(0.5)
