"""What a family works with: the world, its rendering, and chance; and what it hands back."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from emulators.arena.scenario.model import NO_EFFECTS, AnswerRule, Compare, Constraints, Outcome, Plan, Step
from emulators.arena.scenario.reckon import Call, day_text
from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.view import View
from emulators.arena.scenario.world import Event, World
from shared.models import JsonObject, Source

Cited = tuple[Source, ...]
"""One citation wanted: the locator to expect, then others that are just as right."""

_NUMBER = (
    "Answer with a number.",
    "Give the bare number.",
    "The answer is one number.",
    "Reply with a number only.",
)
_TEXT = (
    "Answer with {what}.",
    "Reply with {what}, nothing else.",
    "The answer is {what}.",
    "Give {what} as a text.",
)
_SET = (
    "Answer with a list of {what}, in any order.",
    "Reply with a list ({what}; order does not matter).",
    "Give {what} as a list, any order.",
    "The answer is an unordered list: {what}.",
)
_ORDERED = (
    "Answer with a list of {what}, in that order.",
    "Reply with an ordered list: {what}.",
    "Give {what} as a list; the order counts.",
    "The answer is a list in order: {what}.",
)
_OBJECT = (
    "Answer with an object: {what}.",
    "Reply with a JSON object with {what}.",
    "The answer is an object: {what}.",
    "Give an object with these keys: {what}.",
)
FORMS = {"number": _NUMBER, "text": _TEXT, "set": _SET, "ordered": _ORDERED, "object": _OBJECT}

EXACT = AnswerRule()
NUMBER = AnswerRule(Compare.NUMBER)
SET = AnswerRule(Compare.SET)
ORDERED = AnswerRule(Compare.ORDERED)


@dataclass(frozen=True)
class Draft:
    """A task as its family made it; ``task_id``, hashes and distractors come later.

    ``needs`` are the neutral names of the documents it rests on, ``days`` the numbers of the daily log files,
    ``archive`` says whether it needs the rotated one, ``own`` are files that no other task has.
    """

    family: str
    level: int
    instruction: str
    sources: Sequence[Cited]
    plan: Plan
    outcome: Outcome = Outcome.OK
    answer: JsonValue = None
    rule: AnswerRule = EXACT
    constraints: Constraints = NO_EFFECTS
    needs: Sequence[str] = ()
    days: Sequence[int] = ()
    archive: bool = False
    own: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Kit:
    """One family's tools.

    ``family`` is its name. ``rng`` belongs to the seed: it picks what is asked. ``wording`` belongs to the
    variation: it picks how.
    """

    family: str
    theme: Theme
    world: World
    view: View
    rng: random.Random
    wording: random.Random

    def say(self, templates: Sequence[str], form: str, what: str = "", **values: object) -> str:
        """An instruction: one of the templates, or of the theme's own, and how the answer is to be given."""
        template = self.wording.choice(self.theme.phrases.get(self.family, templates))
        # A name at the beginning keeps its case.
        filled = (template[0].upper() + template[1:]).format(**self.theme.words, **values)
        ending = self.wording.choice(FORMS[form]).format(what=what.format(**self.theme.words))
        return f"{self.wording.choice(self.theme.openings)}{filled} {ending}"

    def column(self, register: str, name: str) -> str:
        """A register's column as SQL names it in this variation."""
        if name == "id" and self.view.look.formats[register] == "json":
            return '"id"'
        return f'"{self.theme.columns[register][name]}"'

    def field(self, name: str) -> str:
        """A log event's field as SQL names it."""
        return f'"{self.theme.fields[name]}"'

    def path(self, name: str) -> str:
        """Where a document lies in this variation."""
        return self.view.look.paths[name]

    def cite(self, name: str, *records: str) -> list[Cited]:
        """Records of a register."""
        return [(self.view.record(name, record),) for record in records]

    def line(self, event: Event) -> Cited:
        """An event's line."""
        return self.view.event(event)

    def ends(self, calls: Sequence[Call]) -> list[Cited]:
        """The first and the last call, each by any of its attempts (rule Q2)."""
        picked = [calls[0], calls[-1]] if len(calls) > 1 else [calls[0]]
        return [tuple(place for event in call for place in self.view.event(event)) for call in picked]

    def day(self, day: int) -> str:
        """The date of a day of the log."""
        return day_text(self.world.start, day)

    def rule_step(self, document: str, rule: str, *, cite: bool = False) -> Step:
        """A step of the plan: this rule applies, and its line is cited if ``cite``."""
        path = "/AGENTS.md" if document == "agents_md" else self.path(document)
        args: JsonObject = {"path": path, "id": rule}
        return Step("rule", {**args, "cite": True} if cite else args)

    def sql(
        self,
        query: str,
        *registers: str,
        name: str = "",
        shape: str = "none",
        cite: str | None = None,
        sheets: Mapping[str, tuple[str, str]] | None = None,
    ) -> Step:
        """A step of the plan: a query over registers, by their neutral names, and over sheets.

        Args:
            sheets: alias → the document's neutral name and the sheet's name.
        """
        tables: JsonObject = {register: {"path": self.path(register)} for register in registers}
        for alias, (document, sheet) in (sheets or {}).items():
            tables[alias] = {"path": self.path(document), "sheet": sheet}
        args: JsonObject = {"tables": tables, "query": query, "shape": shape}
        return Step("sql", args if cite is None else {**args, "cite": cite}, name)


def text(value: object) -> str:
    """A value as an SQL text."""
    return "'" + str(value).replace("'", "''") + "'"
