"""How the Harness Arena's answers are read.

Its text leaves much open, so reading is liberal: unknown fields are ignored, a field that is missing, null or
of another type is None, an item of a list that has no usable id is left out, and an answer may sit in one
more envelope (``{"data": {…}}``). Only what nothing works without is demanded. Where that is missing,
``read`` raises ValueError, and the client takes the answer for a malformed one.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from shared.models import JsonObject

_ENVELOPES = ("data", "result", "response", "payload", "run", "grade")


def _or_none(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValueError:
        return None


def items(model: type[BaseModel]) -> BeforeValidator:
    """Of a list (or of ``{id: item}``, or null) the items that ``model`` can read."""

    def usable(value: Any) -> Any:
        if value is None:
            return []
        items = value.values() if isinstance(value, dict) else value
        if not isinstance(items, Iterable) or isinstance(items, str):
            raise ValueError("is not a list")
        kept = []
        for item in items:
            with suppress(ValidationError):
                kept.append(model.model_validate(item))
        return kept

    return BeforeValidator(usable)


def _objects(value: Any) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


LENIENT = WrapValidator(_or_none)
"""None where a value is of another type."""

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._~+@-]{0,127}$")]
TaskId = Annotated[str, Field(pattern=r"^[^|\x00-\x1f\x7f]{1,200}$")]
"""Whatever a job can carry (``shared.pool.jobs``): a task that is left out is lost."""
Sha256 = Annotated[str, BeforeValidator(_lower), Field(pattern=r"^[0-9a-f]{64}$")]
Number = Annotated[Annotated[float, Field(allow_inf_nan=False)] | None, LENIENT]
Count = Annotated[Annotated[int, Field(ge=0)] | None, LENIENT]
Whole = Annotated[int | None, LENIENT]
Flag = Annotated[bool | None, LENIENT]
Text = Annotated[str | None, LENIENT]
Moment = Annotated[Annotated[datetime, AfterValidator(_aware)] | None, LENIENT]
Objects = Annotated[list[JsonObject], BeforeValidator(_objects)]


class Wire(BaseModel):
    """Base of the models: immutable, ignores what it does not know, reads 7 as "7" where text is wanted."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    @classmethod
    def read(cls, data: JsonValue) -> Self:
        """Read an answer. Raises ValueError that names the field which is missing or wrong."""
        opened = _without_envelope(data, set(cls.model_fields))
        try:
            return cls.model_validate(opened)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the answer"
            said = f" (it says: {opened['error']})" if isinstance(opened, dict) and "error" in opened else ""
            raise ValueError(f"{where}: {first['msg']}{said}") from None


def _without_envelope(data: JsonValue, fields: set[str]) -> JsonValue:
    """What an envelope holds, together with what lies beside it (``{"run": {…}, "tasks": […]}``)."""
    if isinstance(data, dict):
        for name in _ENVELOPES:
            inner = data.get(name)
            if name not in fields and isinstance(inner, dict) and fields & inner.keys():
                return {**data, **inner}
    return data
