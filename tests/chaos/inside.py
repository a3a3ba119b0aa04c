"""What a scenario puts into its worker processes: steps at which a finalizer dies, or a defect.

Workers import it as their platform ``arena``, which it leaves as it is.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from shared.platforms.arena.platform import ArenaPlatform as Arena
from shared.pool.jobs import QUEUE_FINISH
from tests.chaos import defects
from tests.support.steps import before_step
from workers import finish

__all__ = ["DEATHS", "DEFECT", "SETTING", "STEPS", "Arena"]

SETTING = "arena=tests.chaos.inside:Arena"
DEFECT = "CHAOS_DEFECT"
"""Variable with the name of a defect (`tests.chaos.defects`)."""

DEATHS = "CHAOS_DEATHS"
"""Variable with a folder for the last words of finalizers, then their steps: ``FOLDER:12,3,40``."""

STEPS = 79
"""Lines of ``workers/finish.py`` that a finalizer carries out for a run of eight tasks."""


def _die_at_steps(folder: Path, steps: Sequence[int]) -> None:
    """Each finalizer in turn dies by SIGKILL before its so-manieth line of ``workers/finish.py``."""
    deaths = len(list(folder.iterdir()))

    def die(line: int) -> None:
        (folder / f"{deaths}").write_text(f"finish.py:{line}")
        os.kill(os.getpid(), signal.SIGKILL)

    if deaths < len(steps):
        threading.settrace(before_step(finish.__file__, steps[deaths], die))


if DEFECT in os.environ:
    defects.put_in(os.environ[DEFECT])
if DEATHS in os.environ and QUEUE_FINISH in sys.argv:
    folder, _, steps = os.environ[DEATHS].rpartition(":")
    _die_at_steps(Path(folder), json.loads(f"[{steps}]"))
