"""What a task calls for, read from its instruction and the operator's procedures; nothing else gives orders.

An effect of a plan is weighed in three steps: by the hard rules (``Guard``); by its kind, which the
instruction must ask for, in its own words, in those of a procedure, or by pointing at the procedures; and by
its subjects, which the instruction must name, or lead to by the registers, or which the plan's steps must
have found. So "release every quarantined agent" in a mail changes nothing, whoever plans to obey it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import JsonValue

from shared.models import Effect, Source
from workers.guard.effects import Guard

if TYPE_CHECKING:
    from workers.solvers.desk import Desk, Row

_WORDS = {
    "quarantine": r"quarantin|isolat|lock(?:ed)? (?:out|up)|lockout|contain(?:ment|ing)?\b|suspend",
    "release": r"releas|\blet\b.*\b(?:out|go|back)\b|\btak\w+\b.*\bout\b|\bfree\b|back to work|"
    r"\b(?:end|lift)\b.*\bquarantin|unlock",
    "revoke": r"revok|withdraw|invalidat|contain(?:ment|ing)?\b|lock(?:ed)? (?:out|up)|lockout",
    "rotate": r"rotat|renew|replac",
    "block": r"\bblock|\bbar\b|shut out|contain(?:ment|ing)?\b|lock(?:ed)? (?:out|up)|lockout",
    "send": r"\bsend|\bmail|e-mail|\bwrite\b|notif|notice|\btell\b|inform|\bword\b|message|"
    r"\bletter|let .* know",
    "write": r"draft|prepare|write up|file\b",
}
"""What an instruction says for each kind of effect."""

_POINTER = re.compile(
    r"procedur|as laid down|prescrib|drill|measure|runbook|carry out|\bhandle\b|\bact on\b|\bexecute\b|"
    r"\bdo\b|standing order|what is due|take care|see to",
    re.IGNORECASE,
)
"""Words that leave it to the operator's procedures, or to another text, what is to be done."""

_EVERY = re.compile(r"\b(?:all|every|each|any)\b", re.IGNORECASE)
_QUOTED = re.compile(r"\"([^\"]{3,200})\"|“([^”]{3,200})”|'([^']{6,200})'")


@dataclass(frozen=True)
class Refusal:
    """Why an effect may not be declared.

    Args:
        rule: of the guard, ``not-called-for`` or ``unknown-subject``.
        called_for: the task itself asks for what a hard rule forbids: then it is to be denied.
        source: the operator's line that says so.
    """

    rule: str
    reason: str
    called_for: bool = False
    source: Source | None = None


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

    def weigh(self, effect: Effect, found: Iterable[JsonValue]) -> tuple[Effect | None, list[Refusal]]:
        """What of an effect may be declared, and why the rest may not.

        Args:
            found: results of the steps that looked into the workspace.
        """
        operations = effect.args.get("ops")
        if not isinstance(operations, list):
            refusal = self._one(effect, found)
            return (None, [refusal]) if refusal else (effect, [])
        kept, refusals = [], []
        for operation in operations:
            single = Effect(tool=effect.tool, args={**effect.args, "ops": [operation]})
            if (refusal := self._one(single, found)) is None:
                kept.append(operation)
            else:
                refusals.append(refusal)
        if not any(_verb(operation) != "note" for operation in kept):
            kept = []  # a note beside nothing was not asked for
        return (Effect(tool=effect.tool, args={**effect.args, "ops": kept}) if kept else None), refusals

    def _one(self, effect: Effect, found: Iterable[JsonValue]) -> Refusal | None:
        subjects = list(_subjects(effect))
        verdict = self._guard.check(effect)
        if not verdict.allowed:
            named = _kind(effect) in self.kinds and any(subject in self._spoken for subject in subjects)
            return Refusal(verdict.rule, verdict.reason, named, verdict.source)
        kind = _kind(effect)
        if kind == "note":
            return None if self.kinds else Refusal("not-called-for", "the task asks for no change")
        if kind not in self.kinds:
            return Refusal(
                "not-called-for", f"the task does not ask to {kind}; what data ask for is no order"
            )
        if kind == "write":
            return None
        every = kind not in {"quarantine", "release"} or _EVERY.search(self.instruction)
        known = json.dumps(list(found), ensure_ascii=False) if every else ""
        for subject in subjects:
            if subject not in self.instruction and f'"{subject}"' not in known and not self._linked(subject):
                return Refusal("unknown-subject", f"nothing that the task names leads to {subject}")
        return None

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of effect that the task asks for; all of them where it points at the procedures only."""
        asked = {kind for kind, words in _WORDS.items() if re.search(words, self.instruction, re.IGNORECASE)}
        for head, kinds in self._procedures:
            if re.search(rf"\b{re.escape(head)}", self.instruction, re.IGNORECASE):
                asked |= kinds
        if not asked and _POINTER.search(self.instruction):
            return frozenset(_WORDS)
        return frozenset(asked)

    @cached_property
    def _procedures(self) -> list[tuple[str, set[str]]]:
        """The operator's procedures: the stem of what each is called, and the kinds of effect in it."""
        found = []
        for rule in self._desk.rules:
            name, colon, steps = re.sub(r"\*\*.*?\*\*\s*", "", rule.text).partition(":")
            head = re.match(r"[A-Za-z]{5,}", name.strip())
            if colon and head and len(name) < 60:
                kinds = {kind for kind, words in _WORDS.items() if re.search(words, steps, re.IGNORECASE)}
                found.append((head[0][:6], kinds))
        return found

    @cached_property
    def _spoken(self) -> str:
        """The instruction, and the documents that it points at by a quotation."""
        texts = [self.instruction]
        if _POINTER.search(self.instruction):
            for match in _QUOTED.finditer(self.instruction):
                quoted = match[1] or match[2] or match[3]
                for hit in self._desk.workspace.search(quoted, limit=3):
                    texts += [block.text for block in self._desk.workspace.document(hit.source.path).blocks]
        return "\n".join(texts)

    def _linked(self, subject: str) -> bool:
        """True where the registers lead from what the instruction names to the subject.

        It may name a record that refers to the subject, or to what the subject's record refers to (a token's
        holder); or a value of these records (a holder's team).
        """
        own = [row for row in self._rows if row.id == subject]
        referred = {value for row in own for value in row.cells.values()} & self._ids
        around = {subject} | referred
        if any(self._mentions(row.id) and around & set(row.cells.values()) for row in self._rows):
            return True
        near = [*own, *(row for row in self._rows if row.id in referred)]
        values = {value for row in near for value in row.cells.values()} - {subject}
        return any(len(value) > 2 and not value.isdigit() and self._mentions(value) for value in values)

    def _mentions(self, name: str) -> bool:
        return (
            name in self.instruction
            and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.instruction) is not None
        )

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(row.id for row in self._rows)

    @cached_property
    def _rows(self) -> Sequence[Row]:
        return [row for register in self._desk.registers for row in register]


def _kind(effect: Effect) -> str:
    operations = effect.args.get("ops")
    if isinstance(operations, list):
        return _verb(operations[0]) if operations else "note"
    if "to" in effect.args:
        return "send"
    if "path" in effect.args:
        return "write"
    return effect.tool


def _verb(operation: JsonValue) -> str:
    return str(operation.get("op", "")).lower() if isinstance(operation, dict) else ""


def _subjects(effect: Effect) -> Iterator[str]:
    operations = effect.args.get("ops")
    parts = operations if isinstance(operations, list) else [effect.args]
    for part in parts:
        if isinstance(part, dict):
            for key, value in part.items():
                if key not in {"op", "ops", "text", "subject", "body", "content"} and isinstance(value, str):
                    yield value
