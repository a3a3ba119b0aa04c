"""Brings an answer into the form asked for: number, text, list or object, rounded, ordered, dated."""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_UP, Decimal, InvalidOperation

from pydantic import JsonValue

from shared.documents.timestamps import parse_time
from shared.errors import ToolError
from workers.solvers.agent.plan import Form

_ROUNDING = {"half_up": ROUND_HALF_UP, "half_even": ROUND_HALF_EVEN, "down": ROUND_DOWN, "up": ROUND_UP}
_NUMBER = re.compile(r"[-+]?\d[\d,' \u00a0\u202f]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_LETTERS = (("YYYY", "%Y"), ("MM", "%m"), ("DD", "%d"), ("HH", "%H"), ("mm", "%M"), ("SS", "%S"))


def shaped(value: JsonValue, form: Form | None) -> JsonValue:
    """The answer in its form; as it is where there is none.

    Raises:
        ToolError: the value cannot be brought there; the message says what it is instead.
    """
    if form is None:
        return value
    if form.kind == "none":
        return None
    if form.kind == "object":
        return _object(value, form)
    if form.kind == "list":
        return _list(value, form)
    single = _single(value, form.kind)
    return _number(single, form) if form.kind == "number" else _text(single, form)


def _object(value: JsonValue, form: Form) -> JsonValue:
    if not isinstance(value, dict):
        raise ToolError(f"the form is an object, the value is {_what(value)}")
    return {key: shaped(item, form.keys.get(key)) for key, item in value.items()}


def _list(value: JsonValue, form: Form) -> JsonValue:
    if isinstance(value, dict):
        raise ToolError("the form is a list, the value is an object")
    items: list[JsonValue] = [] if value is None else [value]
    if isinstance(value, list):
        items = [*value]
    if form.distinct:
        items = [item for place, item in enumerate(items) if item not in items[:place]]
    if form.order != "kept":
        items = sorted(items, key=_key, reverse=form.order == "descending")
    return items


def _single(value: JsonValue, kind: str) -> JsonValue:
    """One value; a list or object of one counts as it."""
    if isinstance(value, list) and len(value) == 1:
        return _single(value[0], kind)
    if isinstance(value, dict) and len(value) == 1:
        return _single(next(iter(value.values())), kind)
    if isinstance(value, list | dict) or value is None:
        raise ToolError(f"the form is a {kind}, the value is {_what(value)}")
    return value


def _number(value: JsonValue, form: Form) -> int | float:
    if isinstance(value, str):
        found = _NUMBER.search(value)
        if found is None:
            raise ToolError(f"the form is a number, the value is {_what(value)}")
        value = re.sub(r"[,' \u00a0\u202f]", "", found.group())
    try:
        number = Decimal(str(value))
        if form.digits is not None:
            number = number.quantize(Decimal(1).scaleb(-form.digits), rounding=_ROUNDING[form.rounding])
        return int(number) if number == number.to_integral_value() else float(number)
    except (InvalidOperation, OverflowError):
        raise ToolError(f"the form is a number, the value is {_what(value)}") from None


def _text(value: JsonValue, form: Form) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = " ".join(str(value).split())
    if form.moment is None:
        return text
    moment = parse_time(text)
    if moment is None:
        raise ToolError(f"the form is a moment ({form.moment}), the value is {_what(value)}")
    return moment.strftime(_directives(form.moment))


def _directives(letters: str) -> str:
    """``YYYY-MM-DD HH:MM`` as strftime wants it. ``MM`` after hours means minutes."""
    before, hours, after = letters.partition("HH")
    after = after.replace("MM", "mm")
    pattern = (before + hours + after).replace("%", "%%")
    for name, directive in _LETTERS:
        pattern = pattern.replace(name, directive)
    return pattern


def _key(item: JsonValue) -> tuple[int, float, str]:
    if isinstance(item, int | float) and not isinstance(item, bool):
        return 0, float(item), ""
    return 1, 0.0, str(item)


def _what(value: JsonValue) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {', '.join(value) or 'no keys'}"
    return "nothing" if value is None else f"{value!r:.80}"
