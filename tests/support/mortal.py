"""A worker process that plays one task and dies by SIGKILL right before a step of its own choosing.

Steps are the calls of Lua scripts made by the thread that solves: everything that it decides or does lies
between two of them. A step is named by its script, and by how often that was called before.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from shared.models import Run
from shared.pool.connection import Patient
from shared.settings import Settings
from tests.support.playing import solve_one
from workers.worker import Worker

Step = tuple[str, int]


def play(
    settings: Settings, run: Run, task_id: str, solver: str, die_before: Step | None, told: Connection
) -> None:
    """Play a task; before the step ``die_before`` the process ends. Tells each step."""
    steps: Counter[str] = Counter()
    alive = Patient.script

    def mortal(patient: Patient, name: str) -> Callable[..., Any]:
        call = alive(patient, name)

        def step(*args: Any, **kwargs: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                if (name, steps[name]) == die_before:
                    os.kill(os.getpid(), signal.SIGKILL)
                told.send((name, steps[name]))
                steps[name] += 1
            return call(*args, **kwargs)

        return step

    Patient.script = mortal  # type: ignore[method-assign,assignment]
    worker = Worker(settings)
    solve_one(worker, run, task_id, solver)
    worker.close()
