"""What the Harness Arena says of files (Harness Arena Task API v1, "Download each file once")."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from shared.platforms.arena.wire import LENIENT, Count, Sha256, TaskId, Wire, items


class FileInfo(Wire):
    path: str
    sha256: Sha256
    size: Count = None


def _paths(value: Any) -> Any:
    """``{path: sha256}``, the form of the run's manifest, as a list of files."""
    return (
        [{"path": path, "sha256": sha} for path, sha in value.items()] if isinstance(value, dict) else value
    )


Files = Annotated[list[FileInfo], items(FileInfo), BeforeValidator(_paths)]


class TaskManifest(Wire):
    """``GET …/tasks/{task_id}/manifest``: one task's files in their current state."""

    files: Files


class TaskFiles(Wire):
    task_id: TaskId
    files: Files = Field(default_factory=list)


class BlobInfo(Wire):
    sha256: Annotated[Sha256 | None, LENIENT] = None
    size: Count = None


class Manifest(Wire):
    """``GET /runs/{run_id}/manifest``: the run's distinct files, and where each task has them."""

    blobs: Annotated[list[BlobInfo], items(BlobInfo)] = Field(default_factory=list)
    tasks: Annotated[list[TaskFiles], items(TaskFiles)] = Field(default_factory=list)

    def sizes(self) -> dict[str, int]:
        return {blob.sha256: blob.size for blob in self.blobs if blob.sha256 and blob.size is not None}

    def by_task(self) -> dict[str, dict[str, str]]:
        return {task.task_id: {file.path: file.sha256 for file in task.files} for task in self.tasks}
