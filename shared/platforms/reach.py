"""Does anybody listen where a platform is said to be? Asked before workers are started for a new run.

A connection is opened and closed: no request is sent, none is counted. A person waits for the answer, so it
comes within seconds; once a run is under way nothing here is asked, and a platform that is away is waited
for. A connection that is refused may mean a wrong URL or a server that is just starting: nobody can tell, so
it is tried again for a few seconds, and then both are named.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit
from urllib.request import getproxies

from shared.deadline import Deadline
from shared.errors import Unavailable
from shared.platforms.origin import is_loopback

PATIENCE_SECONDS = 5.0
"""So long a platform that does not answer is tried before a run."""

_QUIET_SECONDS = 1.0
"""A wait that lasts longer is told of."""

_AGAIN_SECONDS = 0.25
_CONNECT_SECONDS = 2.0
"""For one address of a host: of two the first may be dead."""


@runtime_checkable
class Reachable(Protocol):
    """A platform that can say beforehand whether it is there."""

    def reach(self, say: Callable[[str], None]) -> None:
        """Raise Unavailable where nobody listens. From then until the first answer the platform is asked less
        patiently than in a run: a person sits there, and nothing is begun."""
        ...


def reach(url: str, setting: str, say: Callable[[str], None], patience: float = PATIENCE_SECONDS) -> None:
    """Look whether somebody listens at a URL. Through a proxy that cannot be seen, and nothing is done.

    Args:
        setting: names the URL, for the message.
        say: is told of a wait.
        patience: seconds.

    Raises:
        Unavailable: nobody does, or the host is not known.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not is_loopback(host) and {parts.scheme, "all"} & getproxies().keys():
        return
    look = _Look(host, parts.port or (443 if parts.scheme == "https" else 80), Deadline.after(patience))
    if not look.ended.wait(_QUIET_SECONDS):
        until = time.strftime("%H:%M:%S", time.localtime(time.time() + look.deadline.left()))
        say(f"{url} does not answer ({look.why}); trying again until {until}")
        look.ended.wait(look.deadline.left())
    if not look.answered:
        raise Unavailable(f"{url} does not answer ({look.why}): is {setting} right, and the server up?")


class _Look:
    """Tries to connect until it can, or time is up, on a thread: looking up a name may hang for long."""

    def __init__(self, host: str, port: int, deadline: Deadline) -> None:
        self.deadline = deadline
        self.ended = threading.Event()
        self.answered = False
        self.why = "no answer"
        self._host = host
        self._port = port
        threading.Thread(target=self._look, name="reach", daemon=True).start()

    def _look(self) -> None:
        while not (self.answered or self.deadline.passed):
            try:
                self.answered = self._connects()
            except socket.gaierror as error:
                self.why = f"the host {self._host} is not known here"
                if error.errno == socket.EAI_NONAME:
                    break  # asking again changes nothing
            except (OSError, UnicodeError) as error:  # UnicodeError: no name that a host can have
                self.why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if not self.answered:
                time.sleep(min(_AGAIN_SECONDS, self.deadline.left()))
        self.ended.set()

    def _connects(self) -> bool:
        """Whether one of the host's addresses takes a connection. Raises OSError as the last one does."""
        failure: OSError | None = None
        for family, kind, protocol, _, address in socket.getaddrinfo(
            self._host, self._port, type=socket.SOCK_STREAM
        ):
            with socket.socket(family, kind, protocol) as connection:
                connection.settimeout(max(0.1, min(_CONNECT_SECONDS, self.deadline.left())))
                try:
                    connection.connect(address)
                except OSError as error:
                    failure = error
                else:
                    return True
        if failure is not None:
            raise failure
        return False
