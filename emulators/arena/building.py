"""Builds scenarios in a process beside the server, so that building one does not make others wait.

A thread would not do: building is half a second of pure computing, and requests that queue up meanwhile reach
the limiter all at once, closer together than their clients sent them.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor

from emulators.arena.scenario import Scenario, build


class Builder:
    """Builds one scenario at a time. The process starts with the first one and ends with its parent."""

    def __init__(self) -> None:
        self._processes = ProcessPoolExecutor(
            1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_end_with,
            initargs=(os.getpid(),),
        )

    def build(self, theme: str, seed: int, variation: int) -> Scenario:
        """As ``scenario.build``; called from threads."""
        return self._processes.submit(build, theme, seed, variation).result()


def _end_with(parent: int) -> None:
    """Leave when the parent is gone, however it went. Its pipes do not tell: this process holds them too."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(0)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()
