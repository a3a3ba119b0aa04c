"""The receipt of a final run: what was handed in, when, with what; beside the run in the archive.

``receipt.json`` is for programs and ``receipt.txt`` for people; both say the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pydantic import JsonValue

from producer.archive import ArchivedRun
from shared.errors import ScrimmageError
from shared.models import JsonObject


def has_receipt(archived: ArchivedRun) -> bool:
    return (archived.folder / "receipt.txt").exists()


def write_receipt(archived: ArchivedRun, facts: Mapping[str, str]) -> Path:
    """Write both files. Returns the path of the text.

    Args:
        facts: known at the start: team, commit, the solver's fingerprint.

    Raises:
        ScrimmageError: the files cannot be written; the run itself is archived.
    """
    receipt = _receipt(archived, facts)
    path = archived.folder / "receipt.txt"
    try:
        (archived.folder / "receipt.json").write_text(
            json.dumps(receipt, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
        path.write_text(_text(receipt), encoding="utf-8")
    except OSError as error:
        raise ScrimmageError(f"the receipt cannot be written to {path}: {error.strerror}") from error
    return path


def _receipt(archived: ArchivedRun, facts: Mapping[str, str]) -> JsonObject:
    row = archived.summary
    card = archived.run.get("scorecard")
    shown = card if isinstance(card, dict) else {}
    run = archived.run.get("run")
    tasks: dict[str, JsonValue] = {}
    for name, task in archived.tasks.items():
        accepted = task.receipt is not None and task.receipt.accepted
        tasks[name] = "submitted" if accepted else task.reason or f"not submitted ({task.status})"
    return {
        "run": str(row.ref),
        "status": row.status,
        "solver": row.solver,
        "scrimmage": version("scrimmage"),
        **facts,
        "tasks_submitted": row.tasks_submitted,
        "tasks_total": row.tasks_total,
        "started_at": shown.get("started_at"),
        "finished_at": shown.get("finished_at"),
        "deadline_at": run.get("deadline_at") if isinstance(run, dict) else None,
        "wall_seconds": row.wall_seconds,
        "requests": row.requests,
        "pool_cost_usd": row.pool_cost_usd,
        "final_score": row.final_score,
        "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "tasks": tasks,
    }


def _text(receipt: JsonObject) -> str:
    """One line per fact; tasks that were not submitted below, by name."""
    lines = [
        f"{name.replace('_', ' '):<20} {'-' if value is None else _line(value)}"
        for name, value in receipt.items()
        if name != "tasks"
    ]
    tasks = receipt["tasks"]
    assert isinstance(tasks, dict)
    missing = [f"{name}: {_line(value)}" for name, value in tasks.items() if value != "submitted"]
    return "\n".join(
        [*lines, "", "without a submission:" if missing else "every task was submitted", *missing, ""]
    )


def _line(value: JsonValue) -> str:
    """Text of foreign origin in one line, without control characters."""
    return "".join(char if char.isprintable() else " " for char in str(value))[:300]
