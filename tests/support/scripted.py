"""A web server that answers by script, down to the socket: what real servers and gateways do on bad days.

Requests are matched in order of arrival: the first script whose method and path fit and which is not used up
answers. A request for which there is none is answered by 404.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from fnmatch import fnmatchcase
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, Self

Behaviour = Callable[["Connection"], bool]
"""Answers one request; returns whether the connection stays open."""


@dataclass(frozen=True)
class Request:
    """A request as it arrived; header names in lower case, ``peer`` the client's port."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    peer: int

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Connection:
    """What a behaviour writes to."""

    request: Request
    socket: socket.socket
    stopping: threading.Event

    def write(self, data: bytes) -> None:
        self.socket.sendall(data)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        self.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


def reply(body: Any = None, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Behaviour:
    """JSON, or the very bytes where ``body`` is bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def behave(connection: Connection) -> bool:
        told = {"Date": formatdate(usegmt=True), "Content-Length": str(len(data)), **(headers or {})}
        connection.head(status, told)
        connection.write(data)
        return True

    return behave


def html(status: int, **headers: str) -> Behaviour:
    """A page of a gateway."""
    page = f"<html><body><h1>{status} says the gateway</h1></body></html>".encode()
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return reply(page, status=status, headers={"Content-Type": "text/html", **told})


def drop(connection: Connection) -> bool:
    """Read the request and close without a word."""
    return False


def reset(connection: Connection) -> bool:
    """Read the request and reset the connection."""
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def truncate(connection: Connection) -> bool:
    """Promise more bytes than come."""
    connection.head(200, {"Content-Length": "1000"})
    connection.write(b'{"team": {"id"')
    return False


def truncate_chunked(connection: Connection) -> bool:
    connection.head(200, {"Transfer-Encoding": "chunked"})
    connection.write(b'20\r\n{"team": {"id"')
    return False


def bad_gzip(connection: Connection) -> bool:
    connection.head(200, {"Content-Encoding": "gzip", "Content-Length": "9"})
    connection.write(b"not gzip!")
    return True


def no_http(connection: Connection) -> bool:
    connection.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    return False


def hang(connection: Connection) -> bool:
    """Never answer; ends when the server stops or the client leaves."""
    connection.socket.settimeout(0.05)
    while not connection.stopping.is_set():
        try:
            if not connection.socket.recv(1):
                return False
        except TimeoutError:
            continue
        except OSError:
            return False
    return False


def drip(connection: Connection) -> bool:
    """A body that never ends, byte by byte, each soon enough to please a read time-out."""
    connection.head(200, {"Content-Length": "100000"})
    try:
        while not connection.stopping.wait(0.05):
            connection.write(b" ")
    except OSError:
        pass
    return False


def after(effect: Callable[[Request], object], behaviour: Behaviour) -> Behaviour:
    """Carry the request out, then misbehave."""

    def behave(connection: Connection) -> bool:
        effect(connection.request)
        return behaviour(connection)

    return behave


@dataclass
class _Script:
    method: str
    path: str
    behaviours: list[Behaviour]
    forever: Behaviour | None


class ScriptedServer:
    """Listens on a free port of this machine from the start, in threads."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.times: list[float] = []
        self._scripts: list[_Script] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        outer = self

        class Handler(StreamRequestHandler):
            def handle(self) -> None:
                outer._serve(self)

        class Server(ThreadingTCPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that went away is no error here."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def on(self, method: str, path: str, *behaviours: Behaviour, forever: Behaviour | None = None) -> None:
        """Script answers to requests that fit; ``path`` may hold ``*``. ``forever`` comes after the rest."""
        with self._lock:
            self._scripts.append(_Script(method, path, list(behaviours), forever))

    def seen(self, method: str = "*", path: str = "*") -> list[Request]:
        return [r for r in self.requests if fnmatchcase(r.method, method) and fnmatchcase(r.path, path)]

    def stop(self) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _serve(self, handler: StreamRequestHandler) -> None:
        while True:
            request = _read(handler)
            if request is None:
                return
            with self._lock:
                self.requests.append(request)
                self.times.append(time.monotonic())
                behaviour = self._next(request)
            if not behaviour(Connection(request, handler.connection, self._stopping)):
                return

    def _next(self, request: Request) -> Behaviour:
        for script in self._fitting(request):
            if script.behaviours:
                return script.behaviours.pop(0)
            if script.forever is not None:
                return script.forever
        return reply({"error": f"nothing is scripted for {request.method} {request.path}"}, status=404)

    def _fitting(self, request: Request) -> Iterable[_Script]:
        path = request.path.partition("?")[0]
        return (s for s in self._scripts if s.method == request.method and fnmatchcase(path, s.path))


def _read(handler: StreamRequestHandler) -> Request | None:
    first = handler.rfile.readline().decode("latin-1").split()
    if len(first) != 3:
        return None
    headers: dict[str, str] = {}
    while line := handler.rfile.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = handler.rfile.read(int(headers.get("content-length", "0")))
    return Request(first[0], first[1], headers, body, handler.client_address[1])
