"""Stopping a program between any two of its steps: a step is one line of a module, carried out once."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any


def before_step(file: str, step: int, then: Callable[[int], None]) -> Callable[[FrameType, str, Any], Any]:
    """A trace function for ``sys.settrace`` or ``threading.settrace``.

    Args:
        file: the module's ``__file__``.
        step: which line, counted from 1 as they are carried out.
        then: is called before that line, with its number in the file.
    """
    carried_out = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal carried_out
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            carried_out += 1
            if carried_out == step:
                then(frame.f_lineno)
        return trace

    return trace
