"""A worker process that plays one task and dies by SIGKILL right before a step of its own choosing.

Steps are the calls of Lua scripts made by the thread that solves: everything that it decides or does lies
between two of them.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from shared.models import Run
from shared.pool.connection import Patient
from shared.settings import Settings
from tests.support.playing import solve_one
from workers.worker import Worker


def play(settings: Settings, run: Run, task_id: str, solver: str, die_before: int, told: Connection) -> None:
    """Play a task; before step number ``die_before`` (from 0) the process ends. Tells each step's name."""
    steps = 0
    alive = Patient.script

    def mortal(patient: Patient, name: str) -> Callable[..., Any]:
        call = alive(patient, name)

        def step(*args: Any, **kwargs: Any) -> Any:
            nonlocal steps
            if threading.current_thread() is threading.main_thread():
                if steps == die_before:
                    os.kill(os.getpid(), signal.SIGKILL)
                steps += 1
                told.send(name)
            return call(*args, **kwargs)

        return step

    Patient.script = mortal  # type: ignore[method-assign,assignment]
    worker = Worker(settings)
    solve_one(worker, run, task_id, solver)
    worker.close()
