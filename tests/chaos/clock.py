"""A machine's wall clock that jumps: a small library is preloaded into all of its processes (``clock.c``).

Linux and a C compiler are needed; ``why_not`` tells what is missing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

_SOURCE = Path(__file__).with_name("clock.c")


def why_not() -> str | None:
    """What is missing for machines with clocks of their own; None where nothing is."""
    if sys.platform != "linux":
        return "a clock of a machine's own needs Linux"
    return None if shutil.which("cc") else "no command `cc`: install a C compiler"


class WallClock:
    """One machine's.

    Args:
        folder: for the library and the file that holds the time.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self._library = folder / "clock.so"
        self.jump(0)
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-o", self._library, _SOURCE], check=True, timeout=60
        )

    @property
    def variables(self) -> dict[str, str]:
        """What a process needs that shall go by this clock."""
        return {"LD_PRELOAD": str(self._library), "CHAOS_CLOCK": str(self._file)}

    def jump(self, ahead: int) -> None:
        """From now on the clock is so many seconds ahead of the true time."""
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(ahead.to_bytes(8, sys.byteorder, signed=True))
