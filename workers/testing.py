"""A solver's surroundings without a pool: for the tests of a solver's author.

context = local_context({"/AGENTS.md": b"# Desk"})
solution = MySolver().solve(task("Who leads?"), context)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from shared.deadline import Deadline
from shared.documents.document import Document
from shared.documents.registry import format_of, parse
from shared.errors import Unreadable
from shared.models import EffectResult, JsonObject, Task, ToolResult
from shared.workspace.workspace import Workspace, Workspaces
from workers.context import TaskContext, Tools


class LocalParse:
    """Documents parsed in this process, kept by content. Not for files that may hang a parser."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Document] = {}

    def get(self, sha: str, name: str, load: Callable[[], bytes], deadline: Deadline) -> Document:  # noqa: ARG002
        key = (sha, format_of(name))
        if key not in self._kept:
            try:
                self._kept[key] = parse(load(), name)
            except Unreadable as error:
                self._kept[key] = Document(format_of(name), unreadable=error.reason)
        return self._kept[key]

    def warm(self, names: Mapping[str, str], deadline: Deadline) -> None:
        """There is nowhere to warm from."""


class UntestedTools:
    """The read-only tools over a workspace, without a platform to compare them with."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def call(self, name: str, args: Mapping[str, JsonValue]) -> tuple[JsonValue, str]:
        return self._workspace.tools.call(name, args), "local"


class Notes:
    """A transcript that is kept here."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, dict[str, Any]]] = []

    def add(self, event: str, /, **data: Any) -> None:
        self.entries.append((event, data))


def task(instruction: str, *, task_id: str = "t01", level: int | None = 1) -> Task:
    """A task with an instruction."""
    return Task(run_id="run_local", task_id=task_id, instruction=instruction, level=level)


def local_context(
    files: Mapping[str, bytes],
    *,
    tools: Mapping[str, Callable[..., JsonValue]] | None = None,
    model: Any = None,
    effects: Sequence[EffectResult] = (),
    state: JsonObject | None = None,
    seconds: float = 30.0,
    notes: Notes | None = None,
) -> TaskContext:
    """What a solver is given, over files at hand.

    Args:
        files: path → bytes of the workspace.
        tools: read-only tools that only a platform could answer, by name.
        model: stands for ``context.model``.
        effects, state: as a second call has them.
        notes: takes what the solver logs.
    """
    shas = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    by_sha = {sha: files[path] for path, sha in shas.items()}
    deadline = Deadline.after(seconds)
    workspace = Workspaces(LocalParse()).open(shas, by_sha.__getitem__, deadline)
    remote = tools or {}
    transcript: Any = notes or Notes()
    return TaskContext(
        tools=Tools(
            lambda: workspace,
            UntestedTools,
            frozenset(remote),
            lambda: {name: {} for name in remote},
            lambda name, args: ToolResult(ok=True, result=remote[name](**args)),
            transcript,
        ),
        workspace=lambda: workspace,
        model=lambda: model,
        deadline=deadline,
        transcript=transcript,
        library=lambda: workspace,
        effects=effects,
        state=state,
    )
