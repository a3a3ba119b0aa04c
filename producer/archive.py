"""Finished runs on disk: what is left when the pool has forgotten them.

Layout, below the archive folder::

    PLATFORM/RUN_ID/run.json          request, run, status, scorecard, summary
    PLATFORM/RUN_ID/tasks.jsonl       one line per task: instruction, solution, effects, receipt, reveal
    PLATFORM/RUN_ID/events.jsonl      the narration, oldest first
    PLATFORM/RUN_ID/transcripts/TASK.jsonl
    PLATFORM/RUN_ID/manifest.json     per task: path → sha256
    files/SH/SHA256                   file contents, once for all runs

Run and task ids come from a platform and paths from a workspace: ids are quoted before they name a file, and
paths stay inside JSON, so nothing is ever written outside the archive folder. A run's folder appears whole
(written aside, then renamed); a file's content is checked against its hash before it is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import JsonValue

from producer.summary import Summary, summary_of
from shared.errors import ScrimmageError, UsageError
from shared.models import JsonObject, RunRef
from shared.pool.ledger import RunState
from shared.pool.pool import Pool


@dataclass(frozen=True)
class ArchivedRun:
    """A run read back from disk. ``tasks`` are the lines of ``tasks.jsonl``, by task id."""

    folder: Path
    summary: Summary
    run: JsonObject
    tasks: Mapping[str, JsonObject]

    def transcript(self, task_id: str) -> list[JsonObject]:
        path = self.folder / "transcripts" / f"{_name(task_id)}.jsonl"
        return list(_lines(path)) if path.exists() else []

    def events(self) -> list[JsonObject]:
        return list(_lines(self.folder / "events.jsonl"))


class Archive:
    """The archive folder. Saving a run again replaces it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, ref: RunRef) -> Path:
        return self.root / _name(ref.platform) / _name(ref.run_id)

    def save(self, pool: Pool, ref: RunRef) -> Path:
        """Write a finished run to disk and tell the ledger so; the pool then forgets it in its own time.

        Raises:
            UsageError: the ledger does not know the run.
            ScrimmageError: the folder cannot be written; the run stays in the ledger.
        """
        state = pool.ledger.must(ref)
        target = self.folder(ref)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
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

    def save_due(self, pool: Pool) -> list[RunRef]:
        """Archive what ended while nobody was there to do it (the command that started it died)."""
        due = [state.ref for state in pool.ledger.runs() if state.status.final and not state.archived]
        for ref in due:
            self.save(pool, ref)
        return due

    def load(self, ref: RunRef) -> ArchivedRun:
        """Read a run back. Raises UsageError where the archive has none of that name."""
        folder = self.folder(ref)
        try:
            run = json.loads((folder / "run.json").read_text())
            tasks = {str(line["task_id"]): line for line in _lines(folder / "tasks.jsonl")}
            return ArchivedRun(folder, Summary.model_validate(run["summary"]), run, tasks)
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

    def update(self, ref: RunRef, card: Mapping[str, JsonValue], reveals: Mapping[str, JsonObject]) -> None:
        """Write scores that arrived later into an archived run."""
        archived = self.load(ref)
        summary = archived.summary.model_dump(mode="json") | {
            key: card[key]
            for key in ("accuracy", "cost_usd", "cost_score", "final_score")
            if card.get(key) is not None
        }
        run = dict(archived.run) | {"scorecard": dict(card), "summary": summary}
        tasks = [
            line | {"reveal": reveals.get(task_id, line.get("reveal"))}
            for task_id, line in archived.tasks.items()
        ]
        _write_text(archived.folder / "run.json", json.dumps(run, ensure_ascii=False, indent=1))
        _write_text(archived.folder / "tasks.jsonl", _jsonl(tasks))

    def _write(self, pool: Pool, state: RunState, folder: Path) -> None:
        ref = state.ref
        card = state.scorecard
        reveals = {reveal.task_id: reveal for reveal in card.reveals} if card else {}
        run = {
            "ref": str(ref),
            "status": state.status,
            "request": state.request.model_dump(mode="json"),
            "run": state.run.model_dump(mode="json", exclude={"tasks"}),
            "scorecard": card.model_dump(mode="json", exclude={"reveals"}) if card else None,
            "summary": summary_of(state, pool).model_dump(mode="json"),
            "spend": pool.spend.totals(ref).as_dict(),
        }
        known = {task.task_id: task for task in state.run.tasks}
        lines = []
        for task in pool.ledger.tasks(ref):
            reveal = reveals.get(task.task_id)
            lines.append(
                known[task.task_id].model_dump(mode="json")
                | {
                    "status": task.status,
                    "attempt": task.attempt,
                    "reason": task.reason,
                    "solution": task.solution.model_dump(mode="json") if task.solution else None,
                    "effects": [
                        entry.result.model_dump(mode="json")
                        for entry in pool.journal.entries(ref, task.task_id)
                        if entry.result is not None
                    ],
                    "receipt": task.receipt.model_dump(mode="json") if task.receipt else None,
                    "reveal": reveal.model_dump(mode="json") if reveal else None,
                }
            )
        events = [event.as_dict() for event in pool.ledger.events(ref)]
        (folder / "transcripts").mkdir()
        for task_id in known:
            entries = pool.transcripts.read(ref, task_id)
            if entries:
                _write_text(folder / "transcripts" / f"{_name(task_id)}.jsonl", _jsonl(entries))
        _write_text(folder / "events.jsonl", _jsonl(events))
        _write_text(folder / "tasks.jsonl", _jsonl(lines))
        manifest = pool.manifest(ref)
        if manifest:
            _write_text(folder / "manifest.json", json.dumps(manifest, ensure_ascii=False))
            self._keep_files(pool, {sha for files in manifest.values() for sha in files.values()})
        _write_text(folder / "run.json", json.dumps(run, ensure_ascii=False, indent=1, default=str))

    def _keep_files(self, pool: Pool, hashes: Iterable[str]) -> None:
        for sha in hashes:
            path = self.root / "files" / sha[:2] / sha
            if path.exists():
                continue
            data = pool.blobs.get(sha)
            if data is None or hashlib.sha256(data).hexdigest() != sha:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_bytes(path, data)

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
    return "".join(json.dumps(line, ensure_ascii=False, default=str) + "\n" for line in lines)


def _write_text(path: Path, text: str) -> None:
    _write_bytes(path, text.encode("utf-8", "surrogatepass"))


def _write_bytes(path: Path, data: bytes) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_bytes(data)
    aside.replace(path)
