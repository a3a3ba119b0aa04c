"""What a solver has at hand while it works on one task."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import JsonValue

from shared.deadline import Deadline
from shared.errors import ToolError
from shared.models import EffectResult, JsonObject, Solution, Task, ToolResult
from workers.transcript import Transcript

if TYPE_CHECKING:
    from shared.workspace.workspace import Workspace
    from workers.model.model import Model


class Solver(Protocol):
    """Decides on tasks. Built once per process and called from several threads at once.

    ``solve`` returns a Solution, or raises ComeBack to wait without holding a slot. Anything else that it
    raises or returns uses up one attempt of the task, except Unavailable and what was raised because of it:
    an infrastructure failure is no fault of the solver's.
    """

    def solve(self, task: Task, context: TaskContext) -> Solution: ...


class LocalTools(Protocol):
    """Answers tools from a workspace; says with each answer where it came from."""

    def call(self, name: str, args: Mapping[str, JsonValue]) -> tuple[JsonValue, str]: ...


class Tools:
    """The read-only tools of a task: answered from the workspace where that has proved right, else by the
    platform.

    Args:
        workspace: gives the task's workspace, None where the platform has no files.
        trusted: its tools, with what the pool knows of their answers.
        read_only: names of the platform's tools that are known, without a request, to change nothing.
        listed: gives the platform's tools by name; an entry with ``effect`` true changes state.
        remote: calls a tool on the platform.
        transcript: every call is noted in it.
    """

    def __init__(
        self,
        workspace: Callable[[], Workspace | None],
        trusted: Callable[[Workspace], LocalTools],
        read_only: frozenset[str],
        listed: Callable[[], Mapping[str, JsonObject]],
        remote: Callable[[str, Mapping[str, JsonValue]], ToolResult],
        transcript: Transcript,
    ) -> None:
        self._workspace = workspace
        self._trusted = trusted
        self._read_only = read_only
        self._listed = listed
        self._remote = remote
        self._transcript = transcript

    @property
    def names(self) -> list[str]:
        """The tools that may be called here."""
        workspace = self._workspace()
        remote = {name for name, tool in self._listed().items() if not tool.get("effect")}
        return sorted(remote | set(workspace.tools.names if workspace else ()))

    def call(self, name: str, /, **args: JsonValue) -> JsonValue:
        """Call a read-only tool, for example ``call("query_logs", agent="a-1", limit=50)``.

        Returns:
            The tool's result; every answer about files carries the path and locator to cite.

        Raises:
            ToolError: no such tool, a wrong argument, a file that does not exist, or a tool that changes
                state (those are declared as effects of the solution).
            Unavailable: the platform did not answer in time; let it pass through.
        """
        started = time.monotonic()
        try:
            result, where = self._call(name, args)
        except ToolError as error:
            self._transcript.add("tool", name=name, args=args, error=str(error))
            raise
        milliseconds = round((time.monotonic() - started) * 1000, 1)
        self._transcript.add("tool", name=name, args=args, where=where, ms=milliseconds)
        return result

    def _call(self, name: str, args: Mapping[str, JsonValue]) -> tuple[JsonValue, str]:
        workspace = self._workspace()
        if workspace is not None and name in workspace.tools.names:
            return self._trusted(workspace).call(name, args)
        if name not in self._read_only:
            self._check_listed(name)
        answer = self._remote(name, args)
        if not answer.ok:
            raise ToolError(answer.error or f"{name} failed without a reason")
        return answer.result, "platform"

    def _check_listed(self, name: str) -> None:
        tool = self._listed().get(name)
        if tool is None:
            raise ToolError(f"there is no tool {name!r} here; known: {', '.join(self.names) or 'none'}")
        if tool.get("effect"):
            raise ToolError(
                f"{name} changes state and is not called by a solver: declare it in the solution, "
                f"effects=[Effect(tool={name!r}, args={{…}})]"
            )


class TaskContext:
    """One task's surroundings, made by the pool for one call of ``solve``.

    Attributes:
        tools: the read-only tools; see ``Tools.call``.
        effects: what was done for this task already, with results. Empty on the first call; filled when the
            platform refused an effect and the solver is called once more. Effects of the second solution
            are carried out in addition, except those that were done already.
        deadline: time left for this task. Every wait of a solver must honour it.
        closing: True where the run ends with the task's time: whoever waits must be back before.
        state: what this solver gave to ComeBack last time; empty on the first call.
    """

    def __init__(
        self,
        *,
        tools: Tools,
        workspace: Callable[[], Workspace | None],
        model: Callable[[], Model | None],
        deadline: Deadline,
        transcript: Transcript,
        closing: bool = True,
        library: Callable[[], Workspace | None] = lambda: None,
        once: Callable[[str, Callable[[], str]], str] = lambda _, make: make(),
        effects: Sequence[EffectResult] = (),
        state: JsonObject | None = None,
    ) -> None:
        self.tools = tools
        self.effects = tuple(effects)
        self.deadline = deadline
        self.closing = closing
        self.state: JsonObject = dict(state or {})
        self._workspace = workspace
        self._model = model
        self._library = library
        self._once = once
        self._transcript = transcript

    @cached_property
    def model(self) -> Model | None:
        """The metered chat model (``workers.model``); None where none is configured.

        Raises SettingsError in a final run whose key is missing here: let it pass through.
        """
        return self._model()

    @cached_property
    def workspace(self) -> Workspace | None:
        """The task's files as documents, tables and logs; None where the platform has none.

        Files are fetched when this is first used: a solver that never looks costs no request.
        """
        return self._workspace()

    @cached_property
    def library(self) -> Workspace | None:
        """The files of the whole run as one workspace: the same for each of its tasks.

        For what is to be said alike to a model in every task. It holds files that this task lacks; a path
        that two tasks hold with different contents is left out. None where the platform has no files.
        """
        return self._library()

    def once(self, name: str, make: Callable[[], str]) -> str:
        """A text that is made once in the whole pool, and kept as long as files are.

        Args:
            name: says what it is, for example by the hash of a file. Whoever asks for the same name gets the
                same text, whatever the run.
            make: makes it; called by one at a time.

        Raises:
            Unavailable: it could not be made, here or wherever that was tried; let it pass through.
            DeadlinePassed: somebody else still makes it.
        """
        return self._once(name, make)

    def log(self, message: str, /, **data: Any) -> None:
        """Note something in the task's transcript. Keys are masked, long values shortened."""
        self._transcript.add("log", message=message, **({"data": data} if data else {}))
