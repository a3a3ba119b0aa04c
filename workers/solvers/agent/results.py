"""Results of a plan's steps by name, and how later texts and values refer to them."""

from __future__ import annotations

import re
from typing import Any

from pydantic import JsonValue

from shared.errors import ToolError

_WHOLE = re.compile(r"\$([A-Za-z_]\w*)(?:\.([\w ]+))?")
_INSIDE = re.compile(r"\{\$([A-Za-z_]\w*)(?:\.([\w ]+))?\}")


class Results:
    """The results so far."""

    def __init__(self) -> None:
        self._by_name: dict[str, JsonValue] = {}

    def put(self, name: str, value: JsonValue) -> None:
        """Keep a step's result under its name."""
        self._by_name[name] = value

    def value(self, value: JsonValue) -> JsonValue:
        """A value with every ``"$name"`` replaced by its result, and ``{$name}`` by its text."""
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [made for item in value for made in self._items(item)]
        if isinstance(value, str):
            whole = _WHOLE.fullmatch(value)
            return self._get(whole) if whole else _INSIDE.sub(lambda m: _text(self._get(m)), value)
        return value

    def sql(self, query: str) -> str:
        """A query with every ``{$name}`` replaced by SQL texts, a list by several."""

        def literals(match: re.Match[str]) -> str:
            found = self._get(match)
            values = found if isinstance(found, list) else [found]
            return ", ".join(_literal(value) for value in values)

        return _INSIDE.sub(literals, query)

    def _items(self, item: JsonValue) -> list[JsonValue]:
        """An item of a list; an object of which one value stands for a list is one object per item of it."""
        if isinstance(item, dict):
            for key, inner in item.items():
                whole = _WHOLE.fullmatch(inner) if isinstance(inner, str) else None
                found = self._get(whole) if whole else None
                if isinstance(found, list):
                    return [self.value({**item, key: one}) for one in found]
        return [self.value(item)]

    def _get(self, match: re.Match[str]) -> Any:
        name, key = match[1], match[2]
        if name not in self._by_name:
            raise ToolError(
                f"no step before has the name {name!r} (named: {', '.join(self._by_name) or 'none'})"
            )
        value = self._by_name[name]
        if key is None:
            return value
        if not isinstance(value, dict) or key not in value:
            known = ", ".join(value) if isinstance(value, dict) else f"no keys, it is {value!r:.60}"
            raise ToolError(f"${name} has no {key!r}; it has {known}")
        return value[key]


def _text(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    return "" if value is None else str(value)


def _literal(value: JsonValue) -> str:
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"
