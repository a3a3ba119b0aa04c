"""What is checked before a plan's result is believed. A finding is a sentence for the model.

A certain finding means that the result cannot be right. A doubt goes back to the model too; if it comes to
the same result again, that is accepted: a list may well be empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import JsonValue

from shared.models import Effect
from workers.guard import Refusal, Request
from workers.solvers.agent.execute import Done
from workers.solvers.agent.plan import Outcome, Plan, RuleStep

_SHAPES = {
    "object": re.compile(r"\b(?:an|json|the) object\b|\bthese keys\b", re.IGNORECASE),
    "list": re.compile(r"\blist\b", re.IGNORECASE),
    "number": re.compile(
        r"\b(?:with|the bare|is one|with a|is a) number\b|\bnumber only\b|\bas a number\b", re.IGNORECASE
    ),
}
_KEY = re.compile(r"\"([\w -]{1,40})\"")


@dataclass(frozen=True)
class Finding:
    """What is wrong with a result, in words for the model."""

    text: str
    certain: bool = True


@dataclass(frozen=True)
class Judged:
    """A result that was checked.

    Args:
        findings: empty where nothing is wrong.
        effects: those that may be declared.
        refusals: effects that the guard refused.
        broken: a hard rule that the task itself asks to break; the outcome can only be a denial then.
    """

    findings: tuple[Finding, ...]
    effects: tuple[Effect, ...]
    refusals: tuple[Refusal, ...] = ()
    broken: Refusal | None = None

    @property
    def wrong(self) -> bool:
        """True where the result cannot be right."""
        return any(finding.certain for finding in self.findings)


def judge(plan: Plan, done: Done, request: Request) -> Judged:
    """Check what came of a plan."""
    if plan.outcome is not Outcome.OK:
        broken = None if plan.outcome is Outcome.DENIED else request.breach
        return Judged(tuple(_refusal(plan)), (), broken=broken)
    if not plan.steps and not plan.effects and plan.answer is None:
        return Judged((Finding("the plan is empty: no steps, no answer, no effects"),), ())
    weighed = request.weigh(done.effects, done.found)
    findings = [*_answer(done, request.instruction)]
    findings += [Finding(f"effect refused by {no.rule}: {no.reason}", False) for no in weighed.refusals]
    return Judged(tuple(findings), weighed.effects, weighed.refusals, weighed.denial)


def _refusal(plan: Plan) -> list[Finding]:
    """A refusal states its rule; for a clarification the records that fit are cited instead."""
    found = []
    if plan.outcome is not Outcome.CLARIFY and not any(
        isinstance(step, RuleStep) and step.cite for step in plan.steps
    ):
        found.append(
            Finding(f"{plan.outcome} names no rule: cite the operator's rule that it rests on", certain=False)
        )
    if plan.outcome is Outcome.CLARIFY and not plan.steps:
        found.append(Finding("name and cite the records that fit; if only one fits, go on", certain=False))
    return found


def _answer(done: Done, instruction: str) -> list[Finding]:
    found = [Finding(text, certain=False) for text in done.empty]
    if done.answer is None or _holes(done.answer):
        found.append(Finding("the answer, or a value in it, is null", certain=False))
    if not done.sources:
        found.append(Finding("nothing is cited: let steps cite what decides the answer", certain=False))
    wanted, given = wanted_shape(instruction), _shape(done.answer)
    if wanted is not None and given is not None and wanted != given:
        found.append(Finding(f"the task wants a {wanted}, the answer is a {given}", certain=False))
    elif wanted is None and given in {"object", "list"}:
        found.append(Finding(f"the task does not seem to want a {given}", certain=False))
    elif wanted == "object" and isinstance(done.answer, dict):
        keys = set(_KEY.findall(instruction.rpartition("object")[2]))
        if lacking := sorted(keys - set(done.answer)):
            found.append(Finding(f"the answer lacks the keys {', '.join(lacking)}", certain=False))
    return found


def wanted_shape(instruction: str) -> str | None:
    """The shape that an instruction's last sentences ask for by name; None: a text, or it cannot be told."""
    asked = re.split(r"(?<=[.?!])\s+", instruction.strip())
    for sentence in reversed(asked[-2:]):
        for shape, pattern in _SHAPES.items():
            if pattern.search(sentence):
                return shape
    return None


def _shape(answer: JsonValue) -> str | None:
    if isinstance(answer, dict):
        return "object"
    if isinstance(answer, list):
        return "list"
    if answer is None:
        return None
    return "number" if isinstance(answer, int | float) and not isinstance(answer, bool) else "text"


def _holes(answer: JsonValue) -> bool:
    if isinstance(answer, dict):
        return any(value is None or _holes(value) for value in answer.values())
    if isinstance(answer, list):
        return any(value is None or _holes(value) for value in answer)
    return False
