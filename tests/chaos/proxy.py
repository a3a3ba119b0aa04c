"""A network that can be cut: a TCP proxy between a worker machine and Redis or the platform.

It works on any machine. What it cannot do is lose packets: a connection's two ends always learn what the
kernel here knows. `tests.chaos.network` has cables that can be pulled.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections import deque
from typing import Self
from urllib.parse import urlsplit

_CHUNK = 65536


class Proxy:
    """Forwards connections to the host and port of ``url``; one thread for all of them.

    Args:
        url: what is to be reached.
        host: address to listen on.

    Attributes:
        url: ``url``, as it is reached through the proxy.
        delay: seconds by which bytes are held back, each way.
    """

    def __init__(self, url: str, host: str = "127.0.0.1") -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._target = (parts.hostname, parts.port)
        self._listening = socket.create_server((host, 0), backlog=256)
        port = self._listening.getsockname()[1]
        self.url = parts._replace(netloc=f"{host}:{port}").geturl()
        self.delay = 0.0
        self._cut = False
        self._hole = False
        self._stopping = False
        self._peers: dict[socket.socket, socket.socket] = {}
        self._lost: set[socket.socket] = set()
        self._due: deque[tuple[float, socket.socket, bytes]] = deque()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """From now on no byte passes either way, and nobody is told; what was held back passes later."""
        self._cut = True

    def swallow(self) -> None:
        """From now on a black hole: connections are accepted and nothing is forwarded.

        Connections that have met it stay dead when it is gone, and nobody is told: as when a router on the
        way has forgotten them.
        """
        self._hole = True

    def mend(self) -> None:
        """All is well again, for new connections and for those that were only held back."""
        self._cut = self._hole = False

    def reset(self) -> None:
        """Break every connection; new ones are taken."""
        for peer in list(self._peers):
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        self._stopping = True
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            self._listening.setblocking(False)
            selector.register(self._listening, selectors.EVENT_READ)
            while not self._stopping:
                if self._cut:
                    time.sleep(0.02)
                    continue
                if self._hole:
                    self._lost.update(self._peers)
                for key, _ in selector.select(self._pause()):
                    if key.fileobj is self._listening:
                        self._accept(selector)
                    else:
                        assert isinstance(key.fileobj, socket.socket)
                        self._read(selector, key.fileobj)
                self._deliver(selector)
            for peer in list(self._peers):
                peer.close()
        self._listening.close()

    def _pause(self) -> float:
        return min(0.05, max(0.0, self._due[0][0] - time.monotonic())) if self._due else 0.05

    def _accept(self, selector: selectors.BaseSelector) -> None:
        inner, _ = self._listening.accept()
        try:
            outer = socket.create_connection(self._target, timeout=1)
        except OSError:
            inner.close()
            return
        for one, other in ((inner, outer), (outer, inner)):
            one.settimeout(5)  # for sending; reads happen only where something is there
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._peers[one] = other
            selector.register(one, selectors.EVENT_READ)

    def _read(self, selector: selectors.BaseSelector, one: socket.socket) -> None:
        try:
            data = one.recv(_CHUNK)
        except OSError:
            data = b""
        if not data:
            selector.unregister(one)
        other = self._peers.get(one)
        if other is not None and (one not in self._lost or not data):
            self._due.append((time.monotonic() + self.delay, other, data))

    def _deliver(self, selector: selectors.BaseSelector) -> None:
        while self._due and self._due[0][0] <= time.monotonic():
            _, to, data = self._due.popleft()
            if to not in self._peers or (to in self._lost and data):
                continue
            try:
                if not data:
                    raise ConnectionResetError
                to.sendall(data)
            except OSError:
                self._close(selector, to)

    def _close(self, selector: selectors.BaseSelector, one: socket.socket) -> None:
        for each in (one, self._peers.get(one)):
            if each is not None and self._peers.pop(each, None) is not None:
                self._lost.discard(each)
                with contextlib.suppress(KeyError):
                    selector.unregister(each)
                each.close()
