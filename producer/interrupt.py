"""Ctrl-C and SIGTERM as one exception of our own, since the command-line library keeps KeyboardInterrupt."""

from __future__ import annotations

import signal
from types import FrameType


class Interrupted(BaseException):
    """The person, or whoever started the command, wants it to stop. Nothing of a run is lost by that."""


def raise_on_signals() -> None:
    """From now on SIGINT and SIGTERM raise Interrupted in the main thread."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise Interrupted
