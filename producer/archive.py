"""Finished runs on disk: what is left when the pool has forgotten them.

Layout, below the archive folder::

    PLATFORM/RUN_ID/run.json          request, run, status, scorecard, summary
    PLATFORM/RUN_ID/tasks.jsonl       one line per task: instruction, solution, effects, receipt, reveal
    PLATFORM/RUN_ID/events.jsonl      the narration, oldest first
    PLATFORM/RUN_ID/transcripts/TASK.jsonl
    PLATFORM/RUN_ID/manifest.json     per task: path → sha256
    PLATFORM/RUN_ID/receipt.{txt,json}  of a final run (``producer.receipt``)
    files/SH/SHA256                   file contents, once for all runs

Run and task ids come from a platform and paths from a workspace: ids are quoted before they name a file, and
paths stay inside JSON, so nothing is ever written outside the archive folder (by ``producer.archiving``).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident
from typing import Any
from urllib.parse import quote

from pydantic import ConfigDict

from producer.summary import Summary
from shared.errors import SettingsError, UsageError
from shared.models import (
    EffectResult,
    Grade,
    JsonObject,
    Receipt,
    Reveal,
    RunRef,
    Scorecard,
    Solution,
    Task,
    TaskStatus,
)


class ArchivedTask(Task):
    """One line of ``tasks.jsonl``: the task, what was decided and done, and what the platform said."""

    model_config = ConfigDict(extra="ignore")

    status: TaskStatus
    attempt: int = 1
    deliveries: int = 0
    reason: str | None = None
    solution: Solution | None = None
    effects: tuple[EffectResult, ...] = ()
    receipt: Receipt | None = None
    reveal: Reveal | None = None

    @property
    def grade(self) -> Grade | None:
        """The platform's grade, from the receipt or from the reveal after the end."""
        told = (self.receipt, self.reveal)
        return next((part.grade for part in told if part is not None and part.grade is not None), None)


_LEAST_FREE_BYTES = 16 * 2**20
_SCORES = ("accuracy", "cost_usd", "cost_score", "final_score")


@dataclass(frozen=True)
class ArchivedRun:
    """A run read back from disk."""

    folder: Path
    summary: Summary
    run: JsonObject
    tasks: Mapping[str, ArchivedTask]

    def transcript(self, task_id: str) -> list[JsonObject]:
        path = self.folder / "transcripts" / f"{file_name(task_id)}.jsonl"
        return _read_jsonl(path) if path.exists() else []

    def events(self) -> list[JsonObject]:
        return _read_jsonl(self.folder / "events.jsonl")


class Archive:
    """The archive folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check(self) -> None:
        """Make the folder, before anything is played for it. Raises SettingsError where it cannot be used."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.root).close()
            free = shutil.disk_usage(self.root).free
        except OSError as error:
            raise SettingsError(
                f"the archive folder {self.root} cannot be written: {error.strerror}; "
                "set SCRIMMAGE_ARCHIVE to another folder"
            ) from None
        if free < _LEAST_FREE_BYTES:
            raise SettingsError(
                f"the disk of the archive folder {self.root} is full: {free // 2**20} MiB are free; "
                "make room, or set SCRIMMAGE_ARCHIVE to another folder"
            )

    def folder(self, ref: RunRef) -> Path:
        return self.root / file_name(ref.platform) / file_name(ref.run_id)

    def file(self, sha256: str) -> Path:
        """Where the contents with this hash are kept, if they are."""
        return self.root / "files" / sha256[:2] / sha256

    def has(self, ref: RunRef) -> bool:
        return (self.folder(ref) / "run.json").exists()

    def load(self, ref: RunRef) -> ArchivedRun:
        """Read a run back. Raises UsageError where the archive has none of that name."""
        folder = self.folder(ref)
        try:
            run = json.loads(_text(folder / "run.json"))
            tasks = [ArchivedTask.model_validate(line) for line in _read_jsonl(folder / "tasks.jsonl")]
            summary = Summary.model_validate(run["summary"])
            return ArchivedRun(folder, summary, run, {task.task_id: task for task in tasks})
        except FileNotFoundError:
            raise UsageError(f"no run {ref} in the archive {self.root}") from None
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(f"the archived run in {folder} is damaged: {error}") from error

    def find(self, text: str) -> RunRef:
        """``run_x`` or ``arena:run_x`` as a ref. Raises UsageError where it is unknown or ambiguous."""
        platform, _, run_id = text.rpartition(":")
        folders = self.root.glob(f"{file_name(platform) or '*'}/{file_name(run_id) or '-'}")
        matches = [_ref_of(folder / "run.json") for folder in folders]
        if len(matches) != 1:
            what = "is ambiguous: " + ", ".join(map(str, matches)) if matches else self._near(run_id)
            raise UsageError(f"run {text!r} {what}")
        return matches[0]

    def _near(self, run_id: str) -> str:
        """That a run is not here, and what may have been meant: those that begin so, or where to look."""
        begun = sorted(folder.name for folder in self.root.glob(f"*/{file_name(run_id) or '-'}*/"))[:5]
        meant = f"do you mean {', '.join(begun)}?" if begun else "`scrimmage status` shows those under way"
        return f"is not in the archive ({self.root}); {meant}"

    def update(self, ref: RunRef, card: Scorecard) -> ArchivedRun:
        """Write scores that arrived later into an archived run, and read it back."""
        archived = self.load(ref)
        scores = card.model_dump(mode="json", exclude={"reveals"}, exclude_none=True)
        known = {name: scores[name] for name in _SCORES if name in scores}
        summary = archived.summary.model_dump(mode="json") | known
        reveals = {reveal.task_id: reveal for reveal in card.reveals}
        tasks = [
            task.model_copy(update={"reveal": reveals.get(task.task_id, task.reveal)})
            for task in archived.tasks.values()
        ]
        write_json(archived.folder / "run.json", archived.run | {"scorecard": scores, "summary": summary})
        write_text(archived.folder / "tasks.jsonl", jsonl(task.model_dump(mode="json") for task in tasks))
        return self.load(ref)


def file_name(text: str) -> str:
    """A foreign id as a file name: quoted, bounded, never ``.`` or ``..``."""
    quoted = quote(text, safe="").replace(".", "%2E") if text.startswith(".") else quote(text, safe="")
    if len(quoted) > 150:
        quoted = f"{quoted[:100]}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return quoted


def _ref_of(run_json: Path) -> RunRef:
    try:
        return RunRef.parse(json.loads(_text(run_json))["ref"])
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"the archived run in {run_json.parent} is damaged: {error}") from error


def _read_jsonl(path: Path) -> list[Any]:
    return [json.loads(line) for line in _text(path).split("\n") if line]


def _text(path: Path) -> str:
    """What ``write_text`` wrote, half characters of foreign texts included."""
    return path.read_bytes().decode("utf-8", "surrogatepass")


def jsonl(lines: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def write_json(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode("utf-8", "surrogatepass"))


def write_bytes(path: Path, data: bytes) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}")  # runs that end together share files
    aside.write_bytes(data)
    aside.replace(path)
