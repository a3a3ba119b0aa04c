"""The journal of effects: what was about to be done, and what became of it. It makes effects happen once.

Before an effect is sent its intent is written, and only if the task's lease outlives the request's time-out:
so while the request is under way nobody else works on the task. After it the result is written. Whoever takes
the task over finds an intent without a result, and looks at the platform before doing anything.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from shared.models import Effect, EffectResult, RunRef
from shared.pool import keys
from shared.pool.ledger import Lease
from shared.pool.ledger.scripts import Scripts, micros

_LOST = "lost"


@dataclass(frozen=True)
class Entry:
    """One effect of a task.

    While it is an intent: ``fence`` is that of the lease that wrote it, ``seen`` the number of tool calls
    that the platform showed for the task at that time, None where it shows none.
    """

    position: int
    effect: Effect
    state: Literal["intent", "done"]
    fence: int | None = None
    seen: int | None = None
    result: EffectResult | None = None


class Journal(Scripts):
    """The journal of all runs. Its writers show their lease; one that is over raises LeaseLost."""

    folder = ""

    def entries(self, ref: RunRef, task_id: str) -> list[Entry]:
        """The effects of a task, by position."""
        found = [
            _entry(int(position), value)
            for position, value in self._of_task(ref, task_id).items()
            if position.isdecimal()
        ]
        return sorted(found, key=lambda entry: entry.position)

    def known_calls(self, ref: RunRef, task_id: str) -> int:
        """Tool calls of a task that may have reached the platform.

        Where the platform shows more, the journal was lost: the task gets no further effects.
        """
        calls = 0
        for position, value in self._of_task(ref, task_id).items():
            if position == _LOST:
                continue
            entry = _entry(int(position), value) if position.isdecimal() else None
            calls += not (entry and entry.result and entry.result.refused_by)
        return calls

    def lose(self, ref: RunRef, task_ids: Iterable[str]) -> None:
        """Note that calls of these tasks were made of which nothing is known here any more."""
        marks: dict[Any, Any] = {f"{task_id}/{_LOST}": "" for task_id in task_ids}
        if marks:
            self._patient.do(lambda client: client.hset(keys.journal(ref), mapping=marks))

    def lost(self, ref: RunRef, task_id: str) -> bool:
        """True where nobody knows what was done for the task before."""
        return _LOST in self._of_task(ref, task_id)

    def intend(
        self,
        lease: Lease,
        position: int,
        effect: Effect,
        request_timeout: float,
        *,
        seen: int | None = None,
    ) -> Entry:
        """Write the intent, before the effect is sent. Prolongs the lease to outlive the request.

        Args:
            request_timeout: seconds after which the request counts as failed.
            seen: tool calls of the task that the platform shows now; what a later look is compared with.

        Returns:
            The entry at this position: the new one (its fence is the lease's), or what was there. One that is
            done must not be sent again; an older lease's intent is settled by looking.

        Raises:
            LeaseLost: the lease is over, or the task's deadline has passed.
            UsageError: the task's decision is not stored yet.
        """
        calls = "-" if seen is None else seen
        args = (micros(request_timeout), effect.tool, calls, effect.model_dump_json())
        return self._write("intend", lease, position, *args)

    def settle(self, lease: Lease, result: EffectResult) -> Entry:
        """Write what became of an effect. Returns the entry: the result that was written first stays.

        Effects that the guard held back have no intent. Raises LeaseLost: the next holder settles it.
        """
        verdict = result.refused_by or {True: "ok", False: "refused", None: "unknown"}[result.ok]
        args = (result.effect.tool, verdict, result.model_dump_json())
        return self._write("settle", lease, result.position, *args)

    def count_call(self, lease: Lease) -> None:
        """Count a remote tool call that changes nothing, before it is sent: the platform counts it too."""
        token = uuid.uuid4().hex
        names = [keys.journal(lease.ref)]
        self._held("journal_count_call", lease.ref, lease.task_id, lease.fence, token, also=names)

    def _write(self, step: str, lease: Lease, position: int, *args: str | int) -> Entry:
        names = [keys.journal(lease.ref)]
        stored = self._held(
            f"journal_{step}", lease.ref, lease.task_id, lease.fence, position, *args, also=names
        )
        return _entry(position, stored[0])

    def _of_task(self, ref: RunRef, task_id: str) -> dict[str, str]:
        """The fields of a task by what follows its id."""
        stored: Any = self._patient.do(lambda client: client.hgetall(keys.journal(ref)))
        parts = ((field.rpartition("/"), value) for field, value in stored.items())
        return {rest: value for (task, _, rest), value in parts if task == task_id}


def _entry(position: int, stored: str) -> Entry:
    state, _, rest = stored.partition(" ")
    if state == "done":
        result = EffectResult.model_validate_json(rest)
        return Entry(position, result.effect, "done", result=result)
    fence, seen, effect = rest.split(" ", 2)
    calls = None if seen == "-" else int(seen)
    return Entry(position, Effect.model_validate_json(effect), "intent", fence=int(fence), seen=calls)
