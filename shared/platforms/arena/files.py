"""The files of one task of an arena run (Harness Arena Task API v1, "Download each file once")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.deadline import Deadline
from shared.errors import NotFound
from shared.models import RunRef
from shared.platforms.arena.client import ArenaClient
from shared.pool.listings import Listing

FILE_BYTES = 256 * 2**20
"""Bytes of one answer that are read at most, where the manifest does not tell the file's size."""


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
        limit = self.sizes.get(sha256, FILE_BYTES)
        try:
            return self.client.blob(self.ref, sha256, task_id, limit, deadline)
        except NotFound:  # that task has changed the file since; others may have it as it was
            return self.client.blob(self.ref, sha256, None, limit, deadline)

    def bundle(self, task_id: str, deadline: Deadline) -> bytes | None:
        try:
            return self.client.workspace_zip(self.ref, task_id, FILE_BYTES, deadline)
        except NotFound:
            return None
