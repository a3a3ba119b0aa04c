"""What was opened from this data folder, on disk: the way back where Redis lost everything.

The platform knows a run's tasks, submissions and tool calls, but not who plays it and how. So a note is
written before a request is sent and completed when its run is known; it goes when the run is archived.
One small file for each request, in ``opened/`` below the data folder. It holds no key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from shared.errors import SettingsError
from shared.models import Frozen, RunRef, RunRequest


class Note(Frozen):
    """One request. ``at``: when, on Redis's clock; ``facts``: what a final run's receipt tells beside it."""

    request_id: str
    request: RunRequest
    at: float
    ref: RunRef | None = None
    facts: Mapping[str, str] = {}


class Notebook:
    """The notes of one data folder.

    Args:
        data: the data folder; may be missing.
    """

    def __init__(self, data: Path) -> None:
        self._folder = data / "opened"

    def write(self, note: Note) -> None:
        """Keep a note in place of an earlier one of its request. Raises SettingsError."""
        path = self._path(note.request_id)
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            aside.write_text(note.model_dump_json(indent=1) + "\n", encoding="utf-8")
            aside.replace(path)
        except OSError as error:
            raise SettingsError(
                f"cannot note in {self._folder} what is opened: {error.strerror}; without the note a run "
                "could not be found again: free some space, or set SCRIMMAGE_DATA to another folder"
            ) from error

    def notes(self) -> list[Note]:
        """All notes, oldest first. One that was damaged is left out."""
        found = []
        for path in self._folder.glob("req-*.json"):
            try:
                found.append(Note.model_validate_json(path.read_text(encoding="utf-8")))
            except (OSError, ValidationError):
                continue
        return sorted(found, key=lambda note: note.at)

    def of(self, ref: RunRef) -> Note | None:
        """The note on a run."""
        return next((note for note in self.notes() if note.ref == ref), None)

    def forget(self, request_id: str) -> None:
        """The request was refused, or its run is archived."""
        self._path(request_id).unlink(missing_ok=True)

    def _path(self, request_id: str) -> Path:
        return self._folder / f"{request_id}.json"
