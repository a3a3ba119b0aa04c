"""A finalizer that dies by SIGKILL right before a step: it drains a run in a process of its own."""

from __future__ import annotations

import os
import signal
import sys

from shared.pool.jobs import FinishJob
from shared.settings import Settings
from tests.support.steps import before_step
from workers import finish as finishing
from workers.worker import Worker


def play(settings: Settings, job: FinishJob, die_before: int) -> None:
    """Drain the run; before line ``die_before`` (from 1) of ``workers/finish.py`` the process ends."""
    worker = Worker(settings)
    sys.settrace(before_step(finishing.__file__, die_before, lambda _: os.kill(os.getpid(), signal.SIGKILL)))
    finishing.finish(worker, job)
