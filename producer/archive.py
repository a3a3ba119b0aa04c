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
paths stay inside JSON, so nothing is ever written outside the archive folder. A run's folder appears whole
(written aside, then renamed); a file's content is checked against its hash before it is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import ConfigDict

from producer.summary import Summary, summarise
from shared.errors import ScrimmageError, SettingsError, UsageError
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
from shared.pool.ledger import RunState
from shared.pool.listings import Listings
from shared.pool.pool import Pool


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


_LEFT_SECONDS = 3600.0
_SCORES = ("accuracy", "cost_usd", "cost_score", "final_score")


@dataclass(frozen=True)
class ArchivedRun:
    """A run read back from disk."""

    folder: Path
    summary: Summary
    run: JsonObject
    tasks: Mapping[str, ArchivedTask]

    def transcript(self, task_id: str) -> list[JsonObject]:
        path = self.folder / "transcripts" / f"{_name(task_id)}.jsonl"
        return list(_lines(path)) if path.exists() else []

    def events(self) -> list[JsonObject]:
        return list(_lines(self.folder / "events.jsonl"))


class Archive:
    """The archive folder. Saving a run again replaces it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check(self) -> None:
        """Make the folder, before anything is played for it. Raises SettingsError where it cannot be used."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.root).close()
        except OSError as error:
            raise SettingsError(
                f"the archive {self.root} cannot be written: {error.strerror}; "
                "set SCRIMMAGE_ARCHIVE to another folder"
            ) from None

    def folder(self, ref: RunRef) -> Path:
        return self.root / _name(ref.platform) / _name(ref.run_id)

    def has(self, ref: RunRef) -> bool:
        return (self.folder(ref) / "run.json").exists()

    def save(self, pool: Pool, ref: RunRef) -> Path:
        """Write a finished run to disk and tell the ledger so; the pool then forgets it in its own time.

        Raises:
            UsageError: the ledger does not know the run.
            ScrimmageError: the folder cannot be written; the run stays in the ledger.
        """
        state = pool.ledger.run(ref)
        if state is None:
            raise UsageError(f"no run {ref} in the ledger: nothing to archive")
        target = self.folder(ref)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._tidy(target.parent)
            aside = Path(tempfile.mkdtemp(prefix=".saving-", dir=target.parent))
            try:
                self._write(pool, state, aside)
                self._swap(aside, target)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        except OSError as error:
            raise ScrimmageError(
                f"run {ref} could not be archived in {self.root}: {error.strerror}; it stays in the ledger, "
                f"free some space or set SCRIMMAGE_ARCHIVE, then run any command again"
            ) from error
        pool.ledger.archived(ref)
        return target

    def load(self, ref: RunRef) -> ArchivedRun:
        """Read a run back. Raises UsageError where the archive has none of that name."""
        folder = self.folder(ref)
        try:
            run = json.loads((folder / "run.json").read_text())
            tasks = [ArchivedTask.model_validate(line) for line in _lines(folder / "tasks.jsonl")]
            summary = Summary.model_validate(run["summary"])
            return ArchivedRun(folder, summary, run, {task.task_id: task for task in tasks})
        except FileNotFoundError:
            raise UsageError(f"no run {ref} in the archive {self.root}") from None
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(f"the archived run in {folder} is damaged: {error}") from error

    def refs(self) -> list[RunRef]:
        """All archived runs, oldest first."""
        found = sorted(self.root.glob("*/*/run.json"), key=lambda path: path.stat().st_mtime)
        return [_ref_of(path) for path in found]

    def find(self, text: str) -> RunRef:
        """``run_x`` or ``arena:run_x`` as a ref. Raises UsageError where it is unknown or ambiguous."""
        matches = [ref for ref in self.refs() if text in {str(ref), ref.run_id}]
        if len(matches) != 1:
            what = "is ambiguous: " + ", ".join(map(str, matches)) if matches else "is not in the archive"
            raise UsageError(f"run {text!r} {what}")
        return matches[0]

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
        _write_json(archived.folder / "run.json", archived.run | {"scorecard": scores, "summary": summary})
        _write_text(archived.folder / "tasks.jsonl", _jsonl(task.model_dump(mode="json") for task in tasks))
        return self.load(ref)

    def _write(self, pool: Pool, state: RunState, folder: Path) -> None:
        ref, card = state.ref, state.scorecard
        reveals = {reveal.task_id: reveal for reveal in card.reveals} if card else {}
        known = {task.task_id: task for task in state.run.tasks}
        tasks = [
            ArchivedTask(
                **dict(known[task.task_id]),
                status=task.status,
                attempt=task.faults + 1,
                deliveries=task.deliveries,
                reason=task.reason,
                solution=task.solution,
                effects=tuple(
                    entry.result
                    for entry in pool.journal.entries(ref, task.task_id)
                    if entry.result is not None
                ),
                receipt=task.receipt,
                reveal=reveals.get(task.task_id),
            )
            for task in pool.ledger.tasks(ref)
        ]
        (folder / "transcripts").mkdir()
        for task_id in known:
            entries = pool.transcripts.read(ref, task_id)
            if entries:
                _write_text(folder / "transcripts" / f"{_name(task_id)}.jsonl", _jsonl(entries))
        events = (event.model_dump(mode="json") for event in pool.ledger.events(ref))
        _write_text(folder / "events.jsonl", _jsonl(events))
        _write_text(folder / "tasks.jsonl", _jsonl(task.model_dump(mode="json") for task in tasks))
        self._keep_files(pool, ref, folder)
        _write_json(
            folder / "run.json",
            {
                "ref": str(ref),
                "status": state.status,
                "request": state.request.model_dump(mode="json"),
                "run": state.run.model_dump(mode="json", exclude={"tasks"}),
                "scorecard": card.model_dump(mode="json", exclude={"reveals"}) if card else None,
                "summary": summarise(pool, state).model_dump(mode="json"),
            },
        )

    def _keep_files(self, pool: Pool, ref: RunRef, folder: Path) -> None:
        """Keep the files that the pool still has. What was evicted meanwhile stays named in the manifest."""
        listing = Listings(pool.redis).get(ref)
        if listing is None:
            return
        _write_json(folder / "manifest.json", {task: dict(paths) for task, paths in listing.by_task.items()})
        for sha in {sha for paths in listing.by_task.values() for sha in paths.values()}:
            path = self.root / "files" / sha[:2] / sha
            data = None if path.exists() else pool.blobs.get(sha)
            if data is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                _write_bytes(path, data)

    def _tidy(self, folder: Path) -> None:
        """Remove what commands left that were killed while they archived."""
        for left in (*folder.glob(".saving-*"), *folder.glob(".old-*")):
            with contextlib.suppress(FileNotFoundError):  # somebody else's, and finished by now
                if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)

    def _swap(self, aside: Path, target: Path) -> None:
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=".old-", dir=target.parent))
            target.rename(old / "run")
            aside.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            aside.rename(target)


def _name(text: str) -> str:
    """A foreign id as a file name: quoted, bounded, never ``.`` or ``..``."""
    quoted = quote(text, safe="").replace(".", "%2E") if text.startswith(".") else quote(text, safe="")
    if len(quoted) > 150:
        quoted = f"{quoted[:100]}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return quoted


def _ref_of(run_json: Path) -> RunRef:
    try:
        return RunRef.parse(json.loads(run_json.read_text())["ref"])
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"the archived run in {run_json.parent} is damaged: {error}") from error


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def _jsonl(lines: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _write_json(path: Path, value: object) -> None:
    _write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _write_text(path: Path, text: str) -> None:
    _write_bytes(path, text.encode("utf-8", "surrogatepass"))


def _write_bytes(path: Path, data: bytes) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_bytes(data)
    aside.replace(path)
