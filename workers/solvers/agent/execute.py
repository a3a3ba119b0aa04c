"""Carries out a plan on a workspace. Evidence is collected by the steps as they run, never by the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from shared.documents.document import Block
from shared.documents.tables import SqlResult
from shared.errors import ToolError
from shared.models import Effect, Source
from shared.workspace.workspace import Workspace
from workers.context import Tools
from workers.solvers.agent.evidence import of_result, of_rows
from workers.solvers.agent.form import shaped
from workers.solvers.agent.patterns import captures
from workers.solvers.agent.plan import (
    FindStep,
    GivenStep,
    LookStep,
    Plan,
    RuleStep,
    SqlStep,
    Step,
    ToolStep,
)
from workers.solvers.agent.results import Results

MOST_ROWS = 2000
MOST_BYTES = 200_000
"""Of an answer, or of an effect's arguments."""


class StepFailed(Exception):
    """A step could not be carried out; the message is for the model. ``done`` is what was found before."""

    def __init__(self, message: str, done: Done) -> None:
        super().__init__(message)
        self.done = done


@dataclass(frozen=True)
class Done:
    """What came of a plan.

    Args:
        answer: in the form that the plan asks for.
        sources: of the steps that cite, in their order.
        effects: with all results filled in.
        found: the results of the steps that looked into the workspace, for checks and the guard.
        empty: named steps, and what they looked for, that found nothing.
    """

    answer: JsonValue = None
    sources: tuple[Source, ...] = ()
    effects: tuple[Effect, ...] = ()
    found: tuple[JsonValue, ...] = ()
    empty: tuple[str, ...] = ()


@dataclass(frozen=True)
class Means:
    """What a plan is carried out with.

    Args:
        workspace: of the task.
        tools: the task's read-only tools.
        look: gives the text that is seen in the image at a path.
        relations: further names of tables, as the prompt shows them: file and table by name.
    """

    workspace: Workspace
    tools: Tools
    look: Callable[[str], str]
    relations: Mapping[str, tuple[str, str]]


class Execution:
    """One plan being carried out."""

    def __init__(self, plan: Plan, means: Means) -> None:
        self._plan = plan
        self._means = means
        self._results = Results()
        self._sources: dict[Source, None] = {}
        self._found: list[JsonValue] = []
        self._empty: list[str] = []

    def run(self) -> Done:
        """Carry out every step, then form answer and effects.

        Raises:
            StepFailed: a step, the answer or an effect is wrong; ``done`` holds what was found until then.
            Unavailable, DeadlinePassed: pass through.
        """
        for number, step in enumerate(self._plan.steps, 1):
            with self._blaming(f"step {number} ({step.kind}{f', {step.name}' if step.name else ''})"):
                self._step(step)
        with self._blaming("answer"):
            answer = _sendable(shaped(self._results.value(self._plan.answer), self._plan.form))
        with self._blaming("effects"):
            effects = tuple(self._effect(wanted.tool, wanted.args) for wanted in self._plan.effects)
        return self._done(answer, effects)

    def _so_far(self) -> Done:
        """What was found before a failure; with the answer, where it rests on that alone."""
        try:
            return self._done(_sendable(shaped(self._results.value(self._plan.answer), self._plan.form)))
        except ToolError:
            return self._done()

    def _done(self, answer: JsonValue = None, effects: tuple[Effect, ...] = ()) -> Done:
        return Done(answer, tuple(self._sources), effects, tuple(self._found), tuple(self._empty))

    def _blaming(self, what: str) -> _Blame:
        return _Blame(what, self._so_far)

    def _step(self, step: Step) -> None:
        if isinstance(step, GivenStep):
            value = self._results.value(step.value)
        elif isinstance(step, RuleStep):
            value = self._rule(step)
        else:
            if isinstance(step, SqlStep):
                value = self._sql(step)
            elif isinstance(step, ToolStep):
                value = self._tool(step)
            elif isinstance(step, FindStep):
                value = self._find(step)
            else:
                value = self._look(step)
            self._found.append(value)
        if step.name:
            self._results.put(step.name, value)

    def _rule(self, step: RuleStep) -> JsonValue:
        """The text of a rule: of the line that has the id in bold, else that begins with it, else has it."""
        blocks = self._blocks(step.path)
        for wanted in (f"**{step.id}**", step.id):
            holding = [block for block in blocks if wanted in block.text]
            first = [block for block in holding if block.text.lstrip("-*#| ").startswith(wanted)]
            if holding:
                block = (first or holding)[0]
                if step.cite:
                    self._cite(block.locator.source(step.path))
                return block.text
        raise ToolError(f"{step.path} has no rule {step.id!r}")

    def _sql(self, step: SqlStep) -> JsonValue:
        aliases = {**self._means.relations, **{a: (t.path, t.sheet) for a, t in step.tables.items()}}
        query = self._results.sql(step.query)
        result = self._means.workspace.sql(query, limit=MOST_ROWS, aliases=aliases)
        if step.cite is not None:
            for source in of_rows(result, ends=step.cite == "ends"):
                self._cite(source)
        if not result.rows and step.shape != "none":
            self._note_empty(step.name, step.query)
        return _taken(result, step.shape)

    def _find(self, step: FindStep) -> JsonValue:
        blocks = self._blocks(step.path)
        found = captures([block.text for block in blocks], self._pattern(step.pattern))
        if not found:
            raise ToolError(f"{step.path}: nothing matches {step.pattern!r}")
        for index, _ in found if step.all else found[:1]:
            if step.cite:
                self._cite(blocks[index].locator.source(step.path))
        values = [value for _, values in found for value in values]
        return [*values] if step.all else values[0]

    def _look(self, step: LookStep) -> JsonValue:
        path = self._known(step.path)
        found = captures([self._means.look(path)], self._pattern(step.pattern))
        if not found:
            raise ToolError(f"{path}: nothing that is seen matches {step.pattern!r}")
        if step.cite:
            self._cite(Source(path=path))
        return [*found[0][1]] if step.all else found[0][1][0]

    def _tool(self, step: ToolStep) -> JsonValue:
        args = self._results.value(dict(step.args))
        assert isinstance(args, dict)
        result = self._means.tools.call(step.tool, **args)
        if step.cite:
            for source in of_result(result):
                self._cite(source)
        if not step.take:
            return result
        if not isinstance(result, dict) or step.take not in result:
            raise ToolError(f"the result of {step.tool} has no {step.take!r}")
        value = result[step.take]
        if value is None or value == []:
            self._note_empty(step.name, f"{step.tool} {args}")
        return value

    def _effect(self, tool: str, args: dict[str, JsonValue]) -> Effect:
        filled = _sendable(self._results.value(dict(args)))
        assert isinstance(filled, dict)
        return Effect(tool=tool, args=filled)

    def _pattern(self, written: str) -> str:
        value = self._results.value(written)
        if isinstance(value, list | dict) or value is None:
            raise ToolError(f"pattern: {written} is no text")
        return str(value)

    def _blocks(self, path: str) -> Sequence[Block]:
        document = self._means.workspace.document(path)
        if document.unreadable:
            raise ToolError(f"{path} cannot be read: {document.unreadable}")
        return document.blocks

    def _known(self, path: str) -> str:
        self._means.workspace.sha256(path)
        return path

    def _cite(self, source: Source) -> None:
        self._sources[source] = None

    def _note_empty(self, name: str, what: str) -> None:
        self._empty.append(f"{name or 'a step'}: nothing was found by {what[:300]}")


class _Blame:
    """Turns a ToolError inside into StepFailed, with the place in the plan.

    Plans are written by models: what else code stumbles over, the pool's own errors aside, is theirs too.
    """

    def __init__(self, what: str, done: Callable[[], Done]) -> None:
        self._what = what
        self._done = done

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ToolError):
            raise StepFailed(f"{self._what}: {error}", self._done()) from error
        if isinstance(error, ValueError | TypeError | ArithmeticError | LookupError | RecursionError):
            raise StepFailed(f"{self._what}: {type(error).__name__}: {error}", self._done()) from error


def _sendable(value: JsonValue) -> JsonValue:
    """A value as it is, if it can be sent. Raises ToolError for texts and numbers that JSON does not have."""
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, RecursionError) as error:
        raise ToolError(f"it cannot be sent as JSON: {error}") from None
    if size > MOST_BYTES:
        raise ToolError(f"it has {size} bytes, {MOST_BYTES} at most are taken")
    return value


def _taken(result: SqlResult, shape: str) -> JsonValue:
    if shape == "none":
        return None
    if shape == "list":
        return [row[0] for row in result.rows]
    records: list[JsonValue] = [*result.records()]
    if shape == "rows":
        return records
    if not records:
        return None
    return result.rows[0][0] if shape == "value" else records[0]
