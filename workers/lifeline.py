"""The line between a process and whoever started it: the standard input of the started one.

It closes when the starter is gone, however it went, and the started process leaves. A supervisor gives its
nodes a socket, so that a node can say over it that it is about to leave, and be replaced at once.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading

import structlog

LIFELINE = "SCRIMMAGE_LIFELINE"
"""Set to "stdin" for processes that have such a line."""

LEAVING = b"leaving\n"
EXIT_ORPHAN = 72

WARM_SECONDS = 330.0
"""Time for running jobs to finish, of a process that takes no more; a task lasts five minutes at most."""

log = structlog.get_logger(__name__)


def held() -> bool:
    """Whether this process has a line to its starter."""
    return os.environ.get(LIFELINE) == "stdin"


def wait_for_end() -> None:
    """Wait until the starter is gone."""
    while os.read(0, 64):
        pass


def leave_with_starter() -> None:
    """Exit, from now on, when the starter is gone."""
    if held():
        threading.Thread(target=_exit_at_end, name="lifeline", daemon=True).start()


def tell_leaving() -> None:
    """Tell the supervisor, where there is one, that this process takes no more jobs and will end."""
    if held():
        with contextlib.suppress(OSError):  # a starter of another kind gave a pipe, and starts nothing again
            os.write(0, LEAVING)


def heard_leaving(line: socket.socket) -> bool:
    """Whether the process at the other end has said that it leaves. Does not wait."""
    with contextlib.suppress(BlockingIOError, ConnectionResetError):
        return line.recv(64, socket.MSG_DONTWAIT) == LEAVING
    return False


def _exit_at_end() -> None:
    wait_for_end()
    log.error("supervisor_gone")
    os._exit(EXIT_ORPHAN)
