"""Write a finished run into the archive.

A run's folder appears whole: it is written aside, then renamed. A file's content is checked against its hash
before it is kept.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from pathlib import Path

from producer.archive import Archive, ArchivedTask, file_name, jsonl, write_bytes, write_json, write_text
from producer.summary import summarise
from shared.errors import ScrimmageError, UsageError
from shared.models import RunRef
from shared.pool.ledger import RunState
from shared.pool.listings import Listings
from shared.pool.pool import Pool

_LEFT_SECONDS = 3600.0
"""So old must be what a command left, that was killed while it archived, before it is removed."""


def save(pool: Pool, archive: Archive, ref: RunRef) -> None:
    """Write a finished run to disk and tell the ledger so; the pool then forgets it in its own time.

    A run that was archived before is replaced.

    Raises:
        UsageError: the ledger does not know the run.
        ScrimmageError: the folder cannot be written; the run stays in the ledger.
    """
    state = pool.ledger.run(ref)
    if state is None:
        raise UsageError(f"no run {ref} in the ledger: nothing to archive")
    target = archive.folder(ref)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _tidy(target.parent)
        aside = Path(tempfile.mkdtemp(prefix=".saving-", dir=target.parent))
        try:
            _write(pool, archive, state, aside)
            _swap(aside, target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise ScrimmageError(
            f"run {ref} could not be archived in {archive.root}: {error.strerror}; it stays in the ledger: "
            "make room or set SCRIMMAGE_ARCHIVE to another folder, then `scrimmage resume`"
        ) from error
    pool.ledger.archived(ref)


def _write(pool: Pool, archive: Archive, state: RunState, folder: Path) -> None:
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
                entry.result for entry in pool.journal.entries(ref, task.task_id) if entry.result is not None
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
            write_text(folder / "transcripts" / f"{file_name(task_id)}.jsonl", jsonl(entries))
    events = (event.model_dump(mode="json") for event in pool.ledger.events(ref))
    write_text(folder / "events.jsonl", jsonl(events))
    write_text(folder / "tasks.jsonl", jsonl(task.model_dump(mode="json") for task in tasks))
    _keep_files(pool, archive, ref, folder)
    write_json(
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


def _keep_files(pool: Pool, archive: Archive, ref: RunRef, folder: Path) -> None:
    """Keep the files that the pool still has. What was evicted meanwhile stays named in the manifest."""
    listing = Listings(pool.redis).get(ref)
    if listing is None:
        return
    write_json(folder / "manifest.json", {task: dict(paths) for task, paths in listing.by_task.items()})
    for sha in {sha for paths in listing.by_task.values() for sha in paths.values()}:
        path = archive.file(sha)
        data = None if path.exists() else pool.blobs.get(sha)
        if data is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, data)


def _tidy(folder: Path) -> None:
    """Remove what commands left that were killed while they archived."""
    for left in (*folder.glob(".saving-*"), *folder.glob(".old-*")):
        with contextlib.suppress(FileNotFoundError):  # somebody else's, and finished by now
            if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _swap(aside: Path, target: Path) -> None:
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=".old-", dir=target.parent))
        target.rename(old / "run")
        aside.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        aside.rename(target)
