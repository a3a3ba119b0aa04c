"""The files of one task of an arena run (Harness Arena Task API v1, "Download each file once").

The run's manifest and the blobs are the cheap way. A task that the run's manifest leaves out is asked for its
own, and a file that is not found by its hash is asked for by its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from shared.deadline import Deadline
from shared.errors import NotFound
from shared.models import Run, RunRef
from shared.platforms.arena.client import ArenaClient
from shared.pool.listings import Listing, most_bytes

FILE_BYTES = 256 * 2**20
"""Bytes of one answer that are read at most."""


@dataclass(frozen=True)
class ArenaFiles:
    """``base.Files`` over the run's manifest."""

    client: ArenaClient
    ref: RunRef
    task_id: str
    listing: Listing

    @property
    def paths(self) -> Mapping[str, str]:
        return self.listing.by_task.get(self.task_id, {})

    @property
    def by_task(self) -> Mapping[str, Mapping[str, str]]:
        return self.listing.by_task

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.listing.sizes

    def blob(self, sha256: str, task_id: str, deadline: Deadline) -> bytes:
        limit = most_bytes(self.sizes.get(sha256), FILE_BYTES)
        for hint in (task_id, None):  # that task may have changed the file since; others have it as it was
            with suppress(NotFound):
                return self.client.blob(self.ref, sha256, hint, limit, deadline)
        path = next((path for path, sha in self.by_task.get(task_id, {}).items() if sha == sha256), None)
        if path is None:
            raise NotFound(f"arena: no task of run {self.ref.run_id} has a file {sha256[:12]}…")
        return self.client.file(self.ref, task_id, path, limit, deadline)

    def bundle(self, task_id: str, deadline: Deadline) -> bytes | None:
        try:
            return self.client.workspace_zip(self.ref, task_id, FILE_BYTES, deadline)
        except NotFound:
            return None


def listed(client: ArenaClient, run: Run, deadline: Deadline) -> Listing:
    """The files of every task of a run, one request where its manifest is whole.

    Raises:
        Unavailable, Refused: the platform does not answer, or not to this key.
        DeadlinePassed: it was not known in time.
    """
    by_task: dict[str, dict[str, str]] = {}
    sizes: dict[str, int] = {}
    with suppress(NotFound):
        manifest = client.manifest(run.ref, deadline)
        by_task, sizes = manifest.by_task(), manifest.sizes()
    for task in run.tasks:
        if task.task_id not in by_task:
            by_task[task.task_id] = {}
            with suppress(NotFound):
                own = client.task_manifest(run.ref, task.task_id, deadline)
                by_task[task.task_id] = {file.path: file.sha256 for file in own.files}
                sizes |= {file.sha256: file.size for file in own.files if file.size is not None}
    return Listing(by_task, sizes)
