"""Money: what model calls cost, by task, run and sweep, with caps that hold across all workers.

A call's estimate is committed before the call is made, and replaced by its cost when the answer came. A call
whose answer was lost stays ``unsettled`` at its estimate: it may have been paid for. All amounts are whole
micro-dollars.

Estimates may be wrong, and many calls are under way at a time. So that a cap is not overrun by what all of
them are wrong by, estimates are raised by the most that an earlier call of the sweep (or run) cost beside its
own, and under a cap that many share the first call is made alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from shared.errors import LeaseLost
from shared.models import Frozen, RunRef
from shared.pool import keys
from shared.pool.connection import Patient

CapName = Literal["task", "run", "sweep"]

FIRST_CALL = 30.0
"""Seconds that others wait for the first call under a cap. It may have been lost."""


@dataclass(frozen=True)
class Caps:
    """The most that may be committed, in micro-dollars; None: no cap."""

    task: int | None = None
    run: int | None = None
    sweep: int | None = None


class Spent(Frozen):
    """Model calls and what they cost, in micro-dollars. ``tokens_cached`` are among ``tokens_in``."""

    settled: int = 0
    unsettled: int = 0
    """Estimates of calls whose answer has not come, or was lost."""
    calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0

    @property
    def usd(self) -> float:
        """All of it in US dollars."""
        return (self.settled + self.unsettled) / 1e6


class Totals(Spent):
    """The spending of a run, in all and by task."""

    by_task: dict[str, Spent] = Field(default_factory=dict)


class Spend:
    """The spending of all runs."""

    def __init__(self, patient: Patient) -> None:
        self._patient = patient
        self._reserve = patient.script("spend_reserve")
        self._settle = patient.script("spend_settle")

    def reserve(
        self, ref: RunRef, task_id: str, call_id: str, estimate: int, caps: Caps | None = None
    ) -> CapName | Literal["wait"] | None:
        """Commit an estimate, before the call is made.

        Args:
            call_id: a new token for each call; a repeat with it commits nothing more.

        Returns:
            None if the call may be made. Else nothing was committed: the cap that it would overrun, or
            ``wait`` (ask again soon) while the first call under a cap is under way.

        Raises:
            LeaseLost: the run is not in the ledger any more.
        """
        caps = caps or Caps()
        limits: list[str | int] = ["" if cap is None else cap for cap in (caps.task, caps.run, caps.sweep)]
        refusal: CapName | Literal["gone", "wait", ""] = self._reserve(
            _keys(ref), [call_id, task_id, estimate, *limits, int(FIRST_CALL * 1e6)]
        )
        if refusal == "gone":
            raise LeaseLost(f"{ref} is not in the ledger any more: no model call is paid for it")
        return refusal or None

    def settle(
        self,
        ref: RunRef,
        task_id: str,
        call_id: str,
        cost: int,
        *,
        tokens_in: int = 0,
        tokens_cached: int = 0,
        tokens_out: int = 0,
    ) -> bool:
        """Replace the estimate by the cost; 0 for a call that certainly was not made.

        Returns:
            False if the run is not in the ledger any more, and nothing was written.
        """
        args: list[str | int] = [call_id, task_id, cost, tokens_in, tokens_cached, tokens_out]
        return bool(self._settle(_keys(ref), args))

    def totals(self, ref: RunRef) -> Totals:
        """What the run has spent so far."""
        stored: Any = self._patient.do(lambda client: client.hgetall(keys.spend(ref)))
        total = dict.fromkeys(Spent.model_fields, 0)
        by_task: dict[str, dict[str, int]] = {}
        for field, value in stored.items():
            if not field.startswith("call:"):
                continue
            state, cost, tokens_in, tokens_cached, tokens_out, task_id = value.split(" ", 5)
            call = {
                state: int(cost),
                "calls": 1,
                "tokens_in": int(tokens_in),
                "tokens_cached": int(tokens_cached),
                "tokens_out": int(tokens_out),
            }
            task = by_task.setdefault(task_id, dict.fromkeys(Spent.model_fields, 0))
            for name, number in call.items():
                task[name] += number
                total[name] += number
        return Totals(**total, by_task={task_id: Spent(**task) for task_id, task in by_task.items()})

    def close_sweep(self, sweep: str) -> None:
        """The sweep has ended: forget what its runs have committed, removed ones too."""
        fields = (sweep, f"{sweep} permille", f"{sweep} first")
        self._patient.do(lambda client: client.hdel(keys.SWEEPS, *fields))


def micro_dollars(usd: float) -> int:
    """US dollars as whole micro-dollars."""
    return round(usd * 1_000_000)


def _keys(ref: RunRef) -> list[str]:
    return [keys.run(ref), keys.spend(ref), keys.SWEEPS]
