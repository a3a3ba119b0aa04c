"""How the ledger's Lua scripts are called."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from shared.errors import LeaseLost, UsageError
from shared.models import RunRef
from shared.pool import keys
from shared.pool.connection import Patient, Script


class Scripts:
    """Calls the scripts of ``folder``, on one run or on the keys that concern all.

    Args:
        patient: the pool's Redis.
        clock: microseconds instead of Redis's own clock, for tests.
    """

    folder = "ledger/"

    def __init__(self, patient: Patient, *, clock: Callable[[], int] | None = None) -> None:
        self._patient = patient
        self._clock = clock
        self._scripts: dict[str, Script] = {}

    def _call(self, name: str, names: Sequence[str], *args: str | int) -> Any:
        """Run the script ``name`` on the keys ``names``."""
        if name not in self._scripts:
            self._scripts[name] = self._patient.script(self.folder + name)
        now = self._clock() if self._clock else ""
        return self._scripts[name](names, [now, *args])

    def _on_run(self, name: str, ref: RunRef, *args: str | int) -> Any:
        """Run the script ``name`` on the keys of one run."""
        return self._call(name, keys.ledger(ref), str(ref), *args)

    def _held(self, name: str, ref: RunRef, *args: str | int, also: Sequence[str] = ()) -> list[Any]:
        """Run a script that needs a lease on the run's keys and ``also``. Raises LeaseLost if it is over."""
        verdict: str
        reply: list[Any]
        verdict, *reply = self._call(name, [*keys.ledger(ref), *also], str(ref), *args)
        if verdict == "lost":
            raise LeaseLost(f"{name} on {ref}: the lease is over, the work belongs to somebody else")
        if verdict != "ok":
            raise UsageError(f"{name} on {ref}: {verdict}")
        return reply

    def _members(self, key: str) -> list[str]:
        """The members of a zset, lowest score first."""
        members: Any = self._patient.do(lambda client: client.zrange(key, 0, -1))
        return list(members)


def micros(seconds: float) -> int:
    """Seconds as whole microseconds. Raises UsageError for what is no duration."""
    if not math.isfinite(seconds) or seconds < 0:
        raise UsageError(f"not a number of seconds: {seconds}")
    return round(seconds * 1_000_000)


def brief(reason: str) -> str:
    """A reason as the ledger keeps it: bounded, never empty, and text that can be stored."""
    return reason.strip()[:500].encode("utf-8", "replace").decode("utf-8") or "no reason given"
