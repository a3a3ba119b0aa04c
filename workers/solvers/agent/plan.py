"""The plan language: what the model proposes, and code carries out (``execute``).

A plan is data. It names the steps that compute the answer, the form that the answer is to have, and the
effects that are wanted; it never holds the evidence, which the tools collect as they run. A result goes by
its step's ``name``: ``"$name"`` stands for it (``"$name.key"`` for one value of an object), ``{$name}``
inside a text for its text, inside SQL for one or more SQL texts.

Models are read with patience: unknown fields are ignored, null stands for a field that is left out, and a few
short forms are understood. docs/agent.md has the table of steps.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from shared.models import JsonObject
from workers.model import Reply

MOST_STEPS = 60


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cls.model_fields
        return {k: v for k, v in given.items() if v is not None or (k in fields and fields[k].is_required())}


def _cites(given: Any) -> Any:
    """What SQL steps say of citing, said of another step."""
    if given in ("all", "ends"):
        return True
    return False if given in ("none", "") else given


def _cites_rows(given: Any) -> Any:
    """What other steps say of citing, said of a SQL step."""
    if given is True:
        return "all"
    return None if given in (False, "none", "") else given


Cite = Annotated[bool, BeforeValidator(_cites)]


class Outcome(StrEnum):
    """How a task ends (Harness Arena Task API v1, "Submitting")."""

    OK = "OK"
    DENIED = "DENIED_SECURITY"
    CLARIFY = "NEEDS_CLARIFICATION"
    UNSUPPORTED = "UNSUPPORTED"


class TableRef(_Part):
    """A table of the workspace; ``sheet`` where the file has several (also the key of a json table)."""

    path: str
    sheet: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_path(cls, given: Any) -> Any:
        return {"path": given} if isinstance(given, str) else given


class RuleStep(_Part):
    """A rule of an operator file that the plan applies. ``cite``: its line is a source of the task."""

    kind: Literal["rule"]
    path: str
    id: str
    cite: Cite = False
    name: str = ""


class SqlStep(_Part):
    """One SELECT over relations of the profile, or over ``tables`` (alias → file).

    ``shape`` of the result: one cell, the first column, one row, all rows, or nothing. ``cite``: the rows
    that the result came from are sources, all of them or the first and the last; columns ``_path``,
    ``_line``, ``_record``, ``_sheet``, ``_row`` (and the same with ``_2``) in the result say which.
    """

    kind: Literal["sql"]
    query: str
    tables: dict[str, TableRef] = Field(default_factory=dict)
    shape: Literal["value", "list", "object", "rows", "none"] = "none"
    cite: Annotated[Literal["all", "ends"] | None, BeforeValidator(_cites_rows)] = None
    name: str = ""


class FindStep(_Part):
    """Group 1 of the first match of a regular expression in a document; with ``all`` of every match.

    Each block (line, paragraph, page) is searched by itself, ``^`` and ``$`` match at its lines. ``cite``:
    the blocks that matched are sources.
    """

    kind: Literal["find"]
    path: str
    pattern: str
    all: bool = False
    cite: Cite = False
    name: str = ""


class LookStep(_Part):
    """The same over the text that is seen in an image. ``cite``: the image is a source."""

    kind: Literal["look"]
    path: str
    pattern: str = r"(?s)(.+)"
    all: bool = False
    cite: Cite = True
    name: str = ""


class ToolStep(_Part):
    """A read-only tool. ``take``: key of its result; ``cite``: places in its result are sources."""

    kind: Literal["tool"]
    tool: str
    args: dict[str, JsonValue] = Field(default_factory=dict)
    take: str = ""
    cite: Cite = False
    name: str = ""


class GivenStep(_Part):
    """A value that follows from the instruction."""

    kind: Literal["given"]
    value: JsonValue
    name: str = ""


Step = Annotated[RuleStep | SqlStep | FindStep | LookStep | ToolStep | GivenStep, Field(discriminator="kind")]


class Form(_Part):
    """The form in which the instruction wants the answer; code brings it there.

    Args:
        kind: what the answer is.
        digits: decimals of a number; None: as computed.
        rounding: how it gets them.
        order: of a list's items; ``kept``: as computed.
        distinct: a list names nothing twice.
        moment: how a text that is a date or time is written, in letters like ``YYYY-MM-DD HH:MM``.
        keys: the form of each value of an object; others stay as computed.
    """

    kind: Literal["number", "text", "list", "object", "none"]
    digits: Annotated[int, Field(ge=0, le=12)] | None = None
    rounding: Literal["half_up", "half_even", "down", "up"] = "half_up"
    order: Literal["kept", "ascending", "descending"] = "kept"
    distinct: bool = False
    moment: str | None = None
    keys: dict[str, Form] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _of_kind(cls, given: Any) -> Any:
        return {"kind": given} if isinstance(given, str) else given


def _upper(given: Any) -> Any:
    return given.upper() if isinstance(given, str) else given


def _listed(given: Any) -> Any:
    return [text for text in [given] if text] if isinstance(given, str) else given


class WantedEffect(_Part):
    """A state-changing tool call; texts may hold ``{$name}``, values may be ``"$name"``.

    An operation in a list whose value is a list of results stands for one operation per item.
    """

    tool: str
    args: dict[str, JsonValue] = Field(default_factory=dict)


class Plan(_Part):
    """What the model proposes for one task.

    Args:
        outcome: how the task ends.
        reason: one sentence for the transcript; never submitted.
        read: files whose text the model must see before it can plan; the rest is then ignored.
        steps: in order.
        answer: JSON with ``"$name"`` for results; null where the outcome is not OK.
        form: of the answer; None: as it is.
        effects: in order; none unless the outcome is OK.
    """

    outcome: Annotated[Outcome, BeforeValidator(_upper)] = Outcome.OK
    reason: str = ""
    read: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    steps: Annotated[tuple[Step, ...], Field(max_length=MOST_STEPS)] = ()
    answer: JsonValue = None
    form: Form | None = None
    effects: tuple[WantedEffect, ...] = ()


class BadPlan(Exception):
    """The model's answer is no plan. The message is for the model."""


def proposed(reply: Reply) -> JsonObject | None:
    """The plan in a reply; some models hand it in as the arguments of a tool that nobody offered."""
    return next(filter(None, map(_found, (reply.parsed, *(call.args for call in reply.tool_calls)))), None)


def _found(value: JsonValue) -> JsonObject | None:
    """The plan in a model's JSON, also alone in a list or under a name."""
    if isinstance(value, dict) and value.keys() & {"outcome", "steps", "read"}:
        return value
    inner = [*value.values()] if isinstance(value, dict) else value
    return _found(inner[0]) if isinstance(inner, list) and len(inner) == 1 else None


def parse(value: JsonValue) -> Plan:
    """Read a plan from the model's JSON. Raises BadPlan with what is wrong, and where."""
    plan = _found(value)
    if plan is None:
        raise BadPlan("not a plan: no JSON object with outcome and steps, or one that breaks off")
    try:
        return Plan.model_validate(plan)
    except ValidationError as error:
        rows = error.errors(include_input=False, include_url=False)[:5]
        faults = "; ".join(f"{'.'.join(map(str, row['loc'])) or 'plan'}: {row['msg']}" for row in rows)
        raise BadPlan(f"not a plan: {faults}") from None


@cache
def schema() -> dict[str, Any]:
    """JSON schema of a plan, as the model is given it: bare, since endpoints bill it with each prompt."""
    bare = _bare(Plan.model_json_schema())
    assert isinstance(bare, dict)
    return bare


def _bare(schema: Any) -> Any:
    """Without titles and descriptions: the prompt has said it all."""
    if isinstance(schema, dict):
        texts = {key for key in ("title", "description") if isinstance(schema.get(key), str)}
        return {key: _bare(value) for key, value in schema.items() if key not in texts}
    return [_bare(item) for item in schema] if isinstance(schema, list) else schema
