"""An effect taken apart: one per operation, with its kind and its subjects, and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from shared.models import Effect

_TEXTS = frozenset({"op", "ops", "text", "subject", "body", "content"})


def singles(effect: Effect) -> Iterator[Effect]:
    """An effect as one per operation."""
    operations = effect.args.get("ops")
    if not isinstance(operations, list):
        yield effect
        return
    for operation in operations:
        yield Effect(tool=effect.tool, args={**effect.args, "ops": [operation]})


def joined(effect: Effect, good: Sequence[Effect]) -> list[Effect]:
    """The operations that remain of an effect as one; a note beside nothing was not asked for."""
    if not isinstance(effect.args.get("ops"), list):
        return [*good]
    if all(kind(single) == "note" for single in good):
        return []
    operations: list[JsonValue] = []
    for single in good:
        listed = single.args["ops"]
        assert isinstance(listed, list)
        operations += listed
    return [Effect(tool=effect.tool, args={**effect.args, "ops": operations})]


def kind(effect: Effect) -> str:
    """What a single effect does: the operation's name, ``send``, ``write``, or the tool's name."""
    operations = effect.args.get("ops")
    if isinstance(operations, list):
        first = operations[0] if operations else None
        return str(first.get("op", "")).lower() if isinstance(first, dict) else ""
    if "to" in effect.args:
        return "send"
    return "write" if "path" in effect.args else effect.tool


def subjects(effect: Effect) -> Iterator[str]:
    """Whom or what an effect is done to."""
    operations = effect.args.get("ops")
    for part in operations if isinstance(operations, list) else [effect.args]:
        if isinstance(part, dict):
            for key, value in part.items():
                if key not in _TEXTS and isinstance(value, str):
                    yield value
