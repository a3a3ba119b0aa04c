"""One task's own copy of the workspace: what a client did to it, and what it looks like now.

Harness Arena Task API v1, "Tools": "side effects in one task never leak into another".
"""

from __future__ import annotations

import hashlib
import io
import mimetypes
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from emulators.arena import wire
from emulators.arena.scenario import Scenario, ScenarioTask, effects
from shared.documents.registry import TEXT_FORMATS, format_of
from shared.documents.tools import ReadOnlyTools
from shared.errors import ToolError
from shared.models import Grade, JsonObject

_MOST_CHANGED_BYTES = 4 * 2**20
_ZIP_DATE = (2026, 1, 1, 0, 0, 0)
_TYPES = {
    "md": "text/markdown; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "png": "image/png",
    "jpg": "image/jpeg",
}


def content_type(path: str) -> str:
    """The Content-Type that a file is served with."""
    return _TYPES.get(format_of(path)) or mimetypes.guess_type(path)[0] or "application/octet-stream"


@dataclass
class Submission:
    """What was submitted for a task, and its grade."""

    outcome: str
    answer: JsonValue
    sources: list[JsonObject]
    grade: Grade


@dataclass
class TaskWork:
    """A task of a run while the run is active.

    Args:
        task: the scenario's.
        state: what effects have changed.
        tool_calls: as GET /runs/{run_id} counts them.
        versions: path and bytes of every version that effects have made, by sha256.
    """

    task: ScenarioTask
    state: effects.TaskState
    tool_calls: int = 0
    submission: Submission | None = None
    versions: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    _changed: dict[str, str] = field(default_factory=dict)
    _tools: ReadOnlyTools | None = None

    @classmethod
    def begin(cls, scenario: Scenario, task: ScenarioTask) -> TaskWork:
        """A task in its initial state."""
        return cls(task, effects.TaskState.initial(scenario, task))

    @property
    def files(self) -> Mapping[str, str]:
        """Path → sha256, in the current state."""
        return {**self.task.files, **self._changed} if self._changed else self.task.files

    def path_of(self, sha256: str) -> str | None:
        """A path that has or had this content: initial, current, or in between. None: not in this task."""
        if sha256 in self.versions:
            return self.versions[sha256][0]
        return next((path for path, known in self.task.files.items() if known == sha256), None)

    def bytes_of(self, sha256: str, scenario: Scenario) -> bytes:
        """A file's bytes by a hash that has a `path_of`."""
        return self.versions[sha256][1] if sha256 in self.versions else scenario.blobs[sha256]

    def contents(self, scenario: Scenario) -> dict[str, bytes]:
        """Path → bytes, in the current state."""
        return {path: self.bytes_of(sha256, scenario) for path, sha256 in self.files.items()}

    def tools(self, scenario: Scenario) -> ReadOnlyTools:
        """The read-only tools over the current state."""
        if self._tools is None:
            self._tools = ReadOnlyTools(self.contents(scenario))
        return self._tools

    def apply(self, tool: str, args: JsonObject) -> JsonObject:
        """Carry out a state-changing tool call.

        Raises:
            ToolError: an argument is wrong, or the task has written too much; nothing was changed.
        """
        if sum(len(data) for _, data in self.versions.values()) > _MOST_CHANGED_BYTES:
            raise ToolError(f"{tool}: this task has used up its space for changed files")
        result = effects.apply(tool, args, self.state)
        for path, data in self.state.changed.items():
            sha256 = hashlib.sha256(data).hexdigest()
            if self.files.get(path) != sha256:
                self._changed[path] = sha256
                self.versions[sha256] = path, data
                self._tools = None
        return result

    def rest(self) -> None:
        """Let go of what can be made again from the scenario."""
        self._tools = None

    def end(self, *, keep_files: bool) -> None:
        """The run has ended: nobody reads or writes files any more, unless manifests go on answering."""
        if not keep_files:
            self.versions.clear()
            self._changed.clear()
            self.state.changed.clear()
            self.task = replace(self.task, files={})

    def manifest(self, scenario: Scenario) -> wire.TaskManifest:
        """The task's files in their current state."""
        files: list[wire.FileItem] = [
            {
                "path": path,
                "kind": format_of(path),
                "size": len(self.bytes_of(sha256, scenario)),
                "sha256": sha256,
                "content_type": content_type(path),
                "readable": format_of(path) in TEXT_FORMATS,
            }
            for path, sha256 in sorted(self.files.items())
        ]
        return {"files": files, "total_bytes": sum(file["size"] for file in files)}


def pack(contents: Mapping[str, bytes]) -> bytes:
    """Files as one zip; the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path, data in sorted(contents.items()):
            entry = zipfile.ZipInfo(path.lstrip("/"), _ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return packed.getvalue()


def run_manifest(scenario: Scenario) -> wire.RunManifest:
    """The run's distinct blobs and each task's files, in their initial state."""
    blobs: dict[str, wire.BlobItem] = {}
    for task in scenario.tasks:
        for path, sha256 in task.files.items():
            if sha256 not in blobs:
                blobs[sha256] = {
                    "sha256": sha256,
                    "size": len(scenario.blobs[sha256]),
                    "kind": format_of(path),
                    "content_type": content_type(path),
                }
    return {
        "blobs": list(blobs.values()),
        "tasks": [{"task_id": task.task_id, "files": dict(task.files)} for task in scenario.tasks],
        "total_bytes": sum(blob["size"] for blob in blobs.values()),
    }
