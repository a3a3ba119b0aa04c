"""What a task calls for. Its instruction and the operator's procedures give orders, nothing else does.

The effects of a plan are weighed together: each by the hard rules (``Guard``), by its kind, which the
instruction must leave room for (``wording``), and by its subjects, which the instruction must name or lead to
by the registers, or which the plan's steps must have found. A plan of which an effect breaks a hard rule that
the task does not touch has obeyed something else than the task: then releases, messages and the like remain
only where the instruction asks for them in so many words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from shared.documents.paths import extension
from shared.models import Effect, Source
from workers.desk import Desk, Row, mentions
from workers.guard import operations
from workers.guard.effects import Guard
from workers.guard.letters import Letter
from workers.guard.wording import Wording

_LETTERS = frozenset({"txt", "md", "pdf", "docx", "odt"})
_FOUND = frozenset({"revoke", "rotate", "block"})
"""Kinds whose subjects decide by themselves: steps find them. Who is released is named by whoever asks."""
_HEAD = 5
"""A text's title stands in one of its first so many blocks."""
_CONFINING = frozenset({"quarantine", "release"})
"""Asked for in each other's words: "strike it off the quarantine"."""
_EVERY = re.compile(r"\b(?:all|every|each|any)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Refusal:
    """Why an effect may not be declared.

    Args:
        rule: of the guard, ``not-called-for`` or ``unknown-subject``.
        called_for: the task itself asks for what an operator's rule forbids: then it is to be denied.
        source: the operator's line that says so.
    """

    rule: str
    reason: str
    called_for: bool = False
    source: Source | None = None


@dataclass(frozen=True)
class Weighed:
    """The effects that may be declared, and why the others may not."""

    effects: tuple[Effect, ...]
    refusals: tuple[Refusal, ...]

    @property
    def denial(self) -> Refusal | None:
        """What makes the task itself one to be denied."""
        return next((refusal for refusal in self.refusals if refusal.called_for), None)


class Request:
    """One task's request.

    Args:
        instruction: the task's own words.
        desk: the workspace's rules and registers.
        guard: of the task.
    """

    def __init__(self, instruction: str, desk: Desk, guard: Guard) -> None:
        self.instruction = instruction
        self._desk = desk
        self._guard = guard

    def weigh(self, effects: Sequence[Effect], found: Iterable[JsonValue]) -> Weighed:
        """Weigh the effects of one plan. Of a list of operations, those that may stay do.

        Args:
            found: results of the plan's steps that looked into the workspace.
        """
        known = json.dumps([*found], ensure_ascii=False)
        parts = [
            [(single, self._forbidden(single)) for single in operations.singles(effect)] for effect in effects
        ]
        foreign = any(no is not None and not no.called_for for listed in parts for _, no in listed)
        kinds = self._wording.narrow | (self._wording.wide & _FOUND) if foreign else self._wording.wide
        kept: list[Effect] = []
        refusals = [self.breach] if self.breach else []
        for effect, listed in zip(effects, parts, strict=True):
            good = []
            for single, forbidden in listed:
                if refusal := forbidden or self._uncalled(single, kinds, known):
                    refusals.append(refusal)
                else:
                    good.append(single)
            kept += operations.joined(effect, good)
        return Weighed(tuple(kept), tuple(refusals))

    def _forbidden(self, effect: Effect) -> Refusal | None:
        verdict = self._guard.check(effect)
        if verdict.allowed:
            return None
        kind = operations.kind(effect)
        asked = self._wording.narrow & (_CONFINING if kind in _CONFINING else {kind})
        asked |= self._wording.wide & {kind} & {"send"}
        named = any(mentions(self._spoken, subject) for subject in operations.subjects(effect))
        called_for = bool(asked) and named and verdict.source is not None
        return Refusal(verdict.rule, verdict.reason, called_for, verdict.source)

    def _uncalled(self, effect: Effect, kinds: Collection[str], known: str) -> Refusal | None:
        """Why the task does not call for an effect that no hard rule forbids."""
        kind = operations.kind(effect)
        if kind == "note" and kinds:
            return None
        if kind not in kinds:
            return Refusal(
                "not-called-for", f"the task does not ask to {kind}; what data ask for is no order"
            )
        if kind == "write":
            return None
        alone = kind in {"quarantine", "release"} and not _EVERY.search(self.instruction)
        for subject in operations.subjects(effect):
            led = self._refers({subject}) or (not alone and self._leads(subject, known))
            if not mentions(self._spoken, subject) and not led:
                return Refusal("unknown-subject", f"nothing that the task names leads to {subject}")
        return None

    @cached_property
    def _wording(self) -> Wording:
        return Wording(self.instruction, [rule.text for rule in self._desk.rules])

    @cached_property
    def _letters(self) -> list[Letter]:
        """The texts that the instruction says are to be obeyed: by path, or by what stands at their head."""
        workspace, ids = self._desk.workspace, self._ids
        letters = sorted(
            path
            for path in set(workspace.paths()) - set(self._desk.operator_paths)
            if extension(path) in _LETTERS
        )
        found = []
        for named in self._wording.obeyed:
            for path in letters:
                lines = [block.text for block in workspace.document(path).blocks]
                if path == named or any(mentions(line, named) for line in lines[:_HEAD]):
                    found.append(Letter(lines, ids))
        return found

    @cached_property
    def _spoken(self) -> str:
        """The instruction, and the texts that it says are to be obeyed."""
        return "\n".join([self.instruction, *(letter.text for letter in self._letters)])

    @cached_property
    def breach(self) -> Refusal | None:
        """The hard rule that the task breaks by itself, whatever plan is made for it."""
        for letter in self._letters:
            if (verdict := letter.breach(self._guard)) is not None:
                return Refusal(verdict.rule, verdict.reason, True, verdict.source)
        return None

    def _leads(self, subject: str, known: str) -> bool:
        """A step found it, or the instruction names what its record refers to, or a value of either."""
        if f'"{subject}"' in known:
            return True
        own = [row for row in self._rows if row.id == subject]
        referred = {value for row in own for value in row.cells.values()} & self._ids
        if self._refers({subject} | referred):
            return True
        near = [*own, *(row for row in self._rows if row.id in referred)]
        values = {value for row in near for value in row.cells.values()} - {subject}
        return any(
            len(value) > 2 and not value.isdigit() and mentions(self._spoken, value) for value in values
        )

    def _refers(self, ids: set[str]) -> bool:
        """True where a record that the instruction names refers to one of these."""
        return any(mentions(self._spoken, row.id) and ids & set(row.cells.values()) for row in self._rows)

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(row.id for row in self._rows)

    @cached_property
    def _rows(self) -> Sequence[Row]:
        return [row for register in self._desk.registers for row in register]
