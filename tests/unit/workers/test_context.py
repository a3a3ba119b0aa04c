"""The read-only tools that a solver calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import JsonValue

from shared.errors import ToolError
from shared.models import JsonObject, ToolResult
from workers.context import Tools
from workers.testing import Notes, UntestedTools


class Platform:
    """A platform's tools, without files; counts how often it is asked for their list."""

    def __init__(self) -> None:
        self.lists = 0

    def tools(self) -> Tools:
        notes: Any = Notes()
        return Tools(
            lambda: None, UntestedTools, frozenset({"reputation"}), self._listed, self._remote, notes
        )

    def _listed(self) -> Mapping[str, JsonObject]:
        self.lists += 1
        return {"reputation": {}, "weather": {}, "mail": {"effect": True}}

    def _remote(self, name: str, args: Mapping[str, JsonValue]) -> ToolResult:
        return ToolResult(ok=True, result=f"{name} {args}")


def test_a_call_of_a_tool_that_is_known_to_change_nothing_is_the_only_request() -> None:
    platform = Platform()
    assert platform.tools().call("reputation", indicator="a.test") == "reputation {'indicator': 'a.test'}"
    assert platform.lists == 0


def test_what_another_tool_does_is_looked_up_before_it_is_called() -> None:
    platform = Platform()
    assert platform.tools().call("weather") == "weather {}"
    assert platform.lists == 1
    with pytest.raises(ToolError, match=r"mail changes state .* effects=\[Effect"):
        platform.tools().call("mail")
    with pytest.raises(ToolError, match="no tool 'male' here; known: reputation, weather"):
        platform.tools().call("male")
