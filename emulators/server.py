"""Serving an emulator: in this process, in a thread of it, or in a child that dies with it.

The child is started as ``python -m MODULE``. It reads its options, one JSON line, from stdin and answers
one JSON line on stdout once it listens. Its stdin stays open: when that ends, the parent is gone, and the
child stops too.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, Self

import uvicorn
from starlette.types import ASGIApp

from emulators.transport import BreakableProtocol
from shared.errors import SettingsError, Unavailable

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Raises:
        SettingsError: the address cannot be used; the message says why and what to do.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=1024)
        # asyncio sets this only on sockets that name their protocol, which these do not; without it each
        # answer waits 40 ms for an acknowledgement.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        hint = "choose another --port" if port else "choose another --host"
        raise SettingsError(f"cannot listen on {host}:{port}: {error.strerror}; {hint}") from error


def origin(listening: socket.socket) -> str:
    """``http://host:port`` of a listening socket, as a client on this machine reaches it."""
    host, port = listening.getsockname()[:2]
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - a comparison
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server(app: ASGIApp) -> uvicorn.Server:
    """A uvicorn server for an emulator: quiet, no Date of its own (the emulator's clock writes it)."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            loop="asyncio",
            http=BreakableProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            date_header=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=1,
        )
    )


class ThreadedServer:
    """An emulator in a thread of this process: for tests that move its clock or read its state."""

    def __init__(self, app: ASGIApp) -> None:
        self._server = server(app)
        self._socket = listen("127.0.0.1", 0)
        self.url = origin(self._socket)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="emulator", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ask it to stop; connections are closed. `join` waits until it has."""
        self._server.should_exit = True

    def join(self) -> None:
        """Wait for its end, after `stop`."""
        self._thread.join(_STOP_SECONDS)
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.join()


class ChildServer:
    """An emulator in a process of its own.

    Args:
        module: what to run; it must call `serve_child`.
        options: JSON data for it.

    Raises:
        SettingsError: the child refused its options; the message is its own.
        Unavailable: it did not start in time.
    """

    def __init__(self, module: str, options: dict[str, Any]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.hello = self._greet(options)

    @property
    def pid(self) -> int:
        return self._process.pid

    def _greet(self, options: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        patience = threading.Timer(_START_SECONDS, self._process.kill)
        patience.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(options) + "\n")
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            patience.cancel()
        if not line:
            self.stop()
            raise Unavailable(f"the emulator did not start (exit code {self._process.returncode})")
        hello: dict[str, Any] = json.loads(line)
        if "error" in hello:
            self.stop()
            raise SettingsError(hello["error"])
        return hello

    def stop(self) -> None:
        """Stop the child and wait for its end. May be called again."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve_child(build: Callable[[dict[str, Any]], tuple[ASGIApp, socket.socket, dict[str, Any]]]) -> None:
    """The child's side of `ChildServer`; returns when the parent has closed stdin or is gone.

    Args:
        build: makes, from the options, the application, its socket and what to tell the parent.
    """
    try:
        app, listening, hello = build(json.loads(sys.stdin.readline()))
    except SettingsError as error:
        print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201 - the parent reads it
        sys.exit(2)
    child = server(app)

    def watch() -> None:
        # The raw descriptor: a daemon thread that holds sys.stdin's lock would break the interpreter's exit.
        while os.read(0, 1024):
            pass
        child.should_exit = True

    threading.Thread(target=watch, name="lifeline", daemon=True).start()
    print(json.dumps(hello), flush=True)  # noqa: T201 - the parent reads it
    with contextlib.suppress(KeyboardInterrupt):
        child.run(sockets=[listening])
