"""What a workspace's relations hold, in few tokens: the text that a model reads before it writes SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from shared.documents.document import shown
from shared.documents.relations import PLACES, Column, Relation
from shared.documents.tracing import quoted

_FEW = 6
_LONGEST = 24
_TYPES = {"VARCHAR": "text", "BIGINT": "int", "DOUBLE": "float", "BOOLEAN": "bool", "TIMESTAMP": "time"}
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def profile(relations: Sequence[Relation], log_tables: Sequence[str]) -> str:
    """One paragraph per relation.

    Args:
        log_tables: relations that are named but not described, since ``events`` holds their rows.
    """
    lines = [line for relation in relations for line in _relation(relation)]
    if log_tables:
        lines.append(f"single logs, as written: {', '.join(log_tables)}")
    lines.append(f"every relation also has {', '.join(PLACES)} where it applies; results carry citations")
    return "\n".join(lines)


def _relation(relation: Relation) -> list[str]:
    columns = [_column(column) for column in relation.columns if column.name not in PLACES]
    return [f"{_spelled(relation.name)} ({relation.title}; {len(relation)} rows)", f"  {'; '.join(columns)}"]


def _column(column: Column) -> str:
    values = [value for value in column.values if value is not None]
    text = f"{_spelled(column.name)} {_TYPES.get(column.type, column.type.lower())}"
    if empty := len(column.values) - len(values) - column.faults:
        text += f", {empty} null"
    if column.faults:
        text += f", {column.faults} without a value"
    if not values:
        return text
    if isinstance(values[0], int | float | date | datetime) and column.type != "BOOLEAN":
        return f"{text}, {_short(min(values))} to {_short(max(values))}"
    distinct = dict.fromkeys(map(_short, dict.fromkeys(values)))
    if len(distinct) <= _FEW:
        return f"{text}: {' | '.join(distinct)}"
    return f"{text}, {len(distinct)} values, e.g. {' | '.join(list(distinct)[:2])}"


def _short(value: Any) -> str:
    text = " ".join(shown(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _spelled(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name)
