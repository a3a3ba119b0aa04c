"""State-changing tool calls: each goes through the guard and the journal, and happens once.

The journal is written before and after each call: intent → call → result. An intent without a result is
what a dead worker or a lost answer leaves behind, and only the platform can say what became of it: its count
of the task's tool calls is compared with the count that was seen when the intent was written. An effect that
cannot be settled so is not repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from shared.deadline import Deadline
from shared.models import Effect, EffectResult
from shared.platforms.base import Platform
from shared.pool.journal import Entry, Journal
from shared.pool.ledger import Lease
from workers.guard import Guard
from workers.transcript import Transcript

CALL_SECONDS = 12.0
"""Longest time that one effect may take; a task whose worker died in the middle waits that long at most."""

READ_TRIES = 5
"""A read that failed on its way may have been counted by the platform so many times."""

JOURNAL_LOST = "journal-lost"
"""The rule that holds an effect back when nobody knows any more what was done for the task."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Effects:
    """Carries out the effects of one task.

    Args:
        lease: of the task; every write to the journal is fenced by it.
        guard: decides whether an effect may leave.
        deadline: of the task.
    """

    journal: Journal
    platform: Platform
    lease: Lease
    guard: Guard
    transcript: Transcript
    deadline: Deadline

    def carry_out(self, effects: Sequence[Effect], first: int = 0) -> list[EffectResult]:
        """Do what was not done before, in order, and return the results of all.

        Args:
            first: journal position of the first of ``effects``.

        Raises:
            LeaseLost: the task belongs to somebody else by now.
            Unavailable: the platform did not answer. What it was asked stays in the journal as an intent and
                is settled by the next attempt.
        """
        if not effects:
            return []
        entries = self.journal.entries(self.lease.ref, self.lease.task_id)
        written = {entry.position: entry for entry in entries}
        results: list[EffectResult] = []
        for position, effect in enumerate(effects, first):
            entry = written.get(position)
            if entry is not None and entry.result is not None:
                results.append(entry.result)
                continue
            result = self._settle(position, effect, entry)
            self.journal.settle(self.lease, result)
            self.transcript.add("effect", **result.model_dump(mode="json"))
            results.append(result)
        return results

    def _settle(self, position: int, effect: Effect, entry: Entry | None) -> EffectResult:
        """Bring one effect to an end: held back, found done, or called now."""
        if entry is None:
            verdict = self.guard.check(effect)
            self.transcript.add(
                "guard", position=position, tool=effect.tool, rule=verdict.rule, allowed=verdict.allowed
            )
            if not verdict.allowed:
                return _held_back(position, effect, verdict.rule, verdict.reason)
        shown = self._calls_shown()
        if entry is not None and (why := _arrived(entry, shown)):
            return EffectResult(position=position, effect=effect, ok=None, error=why)
        if entry is None and self._journal_was_lost(shown):
            log.error("journal_lost", run=str(self.lease.ref), task=self.lease.task_id, shown=shown)
            why = f"the platform showed tool calls of which the journal knows nothing ({shown} by now): "
            why += "it may be done already"
            return _held_back(position, effect, JOURNAL_LOST, why)
        return self._call(position, effect, shown)

    def _call(self, position: int, effect: Effect, shown: int | None) -> EffectResult:
        self.journal.intend(self.lease, position, effect, CALL_SECONDS, seen=shown)
        answer = self.platform.call_tool(
            self.lease.run,
            self.lease.task,
            effect.tool,
            effect.args,
            self.deadline.sooner(CALL_SECONDS),
        )
        return EffectResult(
            position=position, effect=effect, ok=answer.ok, result=answer.result, error=answer.error
        )

    def _calls_shown(self) -> int | None:
        """How many tool calls of the task the platform shows; None where it shows no count."""
        view = self.platform.look(self.lease.run, self.deadline)
        task = view.tasks.get(self.lease.task_id)
        return task.tool_calls if task else None

    def _journal_was_lost(self, shown: int | None) -> bool:
        """True where calls were made of which nothing is known: before this journal, or past it."""
        lost = self.journal.lost(self.lease.ref, self.lease.task_id)
        return lost or (shown is not None and shown > self._most_calls_known())

    def _most_calls_known(self) -> int:
        """The most tool calls that the journal can account for: a call that only reads may be repeated."""
        ref, task_id = self.lease.ref, self.lease.task_id
        entries = self.journal.entries(ref, task_id)
        effects = sum(not (entry.result and entry.result.refused_by) for entry in entries)
        reads = self.journal.known_calls(ref, task_id) - effects
        return effects + READ_TRIES * reads


def _arrived(entry: Entry, shown: int | None) -> str | None:
    """Why an intent without a result must not be sent again; None where the platform shows that it may."""
    if shown is None or entry.seen is None:
        return "the answer was lost, and the platform does not show whether the call arrived"
    if shown > entry.seen:
        return "the answer was lost; the platform shows that the call arrived"
    return None


def _held_back(position: int, effect: Effect, rule: str, why: str) -> EffectResult:
    return EffectResult(position=position, effect=effect, ok=False, refused_by=rule, error=why)


def refused(results: Sequence[EffectResult]) -> bool:
    """True where the platform (not the guard) said no to an effect."""
    return any(result.ok is False and result.refused_by is None for result in results)
