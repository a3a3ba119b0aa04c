"""The tool loop: where plans have failed, the model looks around itself, within a budget."""

from __future__ import annotations

import json
from collections.abc import Callable

from pydantic import JsonValue

from shared.errors import ToolError
from shared.models import JsonObject
from workers.context import TaskContext
from workers.model import Reply, ToolCall, assistant, tool, tool_result, user
from workers.solvers.agent.execute import MOST_ROWS, Means
from workers.solvers.agent.plan import proposed
from workers.solvers.agent.policy import Effort

INVITATION = (
    "The plans so far did not work. Look around with the tools, a few calls at most, then answer with a plan "
    "whose steps compute and cite the answer."
)
_LONGEST_RESULT = 4000
_TEXT: JsonObject = {"type": "string"}


def _function(name: str, description: str, **properties: JsonValue) -> JsonObject:
    return tool(name, description, {"type": "object", "properties": properties, "required": [*properties]})


TOOLS = (
    _function("sql", "One SELECT over the relations.", query=_TEXT),
    _function("read", "The blocks of a document of any format, with their places.", path=_TEXT),
    _function("search", "Blocks of all documents that contain a text.", text=_TEXT),
    _function("look", "The text that is seen in an image.", path=_TEXT),
    _function("call", "A read-only tool of the workspace.", tool=_TEXT, args={"type": "object"}),
)


def explore(
    messages: list[JsonObject],
    ask: Callable[[], Reply],
    means: Means,
    context: TaskContext,
    effort: Effort,
    settled: Callable[[Reply], bool],
) -> None:
    """Let the model use tools until it answers with a plan that stands, or the budget is spent.

    Args:
        messages: the conversation so far; goes on here.
        ask: asks the model for its next word, with ``TOOLS``; what it raises passes through.
        settled: takes an answer that calls none of the tools; False: it goes on, ``messages`` says why.
    """
    messages.append(user(INVITATION))
    spent = 0.0
    for _ in range(effort.loop_steps):
        if spent >= effort.loop_usd:
            context.log("the tool loop's budget is spent", usd=round(spent, 6))
            return
        reply = ask()
        spent += reply.cost / 1e6
        if proposed(reply) is not None or not reply.tool_calls:
            if settled(reply):
                return
            continue
        messages.append(assistant(reply))
        messages += [tool_result(call, _answer(call, means)) for call in reply.tool_calls]


def _answer(call: ToolCall, means: Means) -> str:
    try:
        if call.args is None:
            raise ToolError("the arguments are no JSON object")
        result = _call(call.name, call.args, means)
    except ToolError as error:
        return f"error: {error}"
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return text if len(text) <= _LONGEST_RESULT else text[:_LONGEST_RESULT] + " … (cut)"


def _call(name: str, args: JsonObject, means: Means) -> JsonValue:
    if name == "sql":
        result = means.workspace.sql(_text(args, "query"), limit=MOST_ROWS, aliases=means.relations)
        return {"columns": [*result.columns], "rows": [[*row] for row in result.rows[:50]]}
    if name == "read":
        document = means.workspace.document(_text(args, "path"))
        blocks = [f"[{block.locator}] {block.text}" for block in document.blocks]
        return document.unreadable or "\n".join(blocks)
    if name == "search":
        return [
            f"{hit.source.wire()}: {hit.text[:300]}" for hit in means.workspace.search(_text(args, "text"))
        ]
    if name == "look":
        return means.look(_text(args, "path"))
    if name == "call":
        given = args.get("args")
        return means.tools.call(_text(args, "tool"), **(given if isinstance(given, dict) else {}))
    raise ToolError(f"there is no tool {name!r} here")


def _text(args: JsonObject, name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str):
        raise ToolError(f"{name}: a text is needed")
    return value
