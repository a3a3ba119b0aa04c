"""Rehearsals of the final run: what one is made of, whether it passed, and the record that preflight wants.

A rehearsal is the final run's own command against the arena emulator: window open, faults on, the deadline
shortened. It has a pool of its own, in a folder of its own, so that it neither meets nor disturbs other runs.
Its record names solver, commit and settings by a fingerprint: a change of any of them asks for a new one.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from pydantic import SecretStr, ValidationError

from producer.summary import Summary
from shared.models import Frozen, JsonObject, RunRequest
from shared.settings import Settings

DEADLINE_SECONDS = 90.0

_MATTER = (
    "model", "model_url", "model_provider", "model_price", "model_timeout", "model_concurrency", "solvers",
    "platforms", "threads", "lease_seconds", "http_timeout", "bucket_margin_tokens", "bucket_margin_rate",
)  # fmt: skip
"""Settings that change how a run is played. URLs of the platform and of the pool differ in a rehearsal."""


class Rehearsal(Frozen):
    """The record of the last rehearsal, ``rehearsal.json`` in the data folder."""

    fingerprint: str
    passed: bool
    at: str
    detail: str

    @classmethod
    def last(cls, settings: Settings) -> Self | None:
        """The last one; None where there is none, or its record is damaged."""
        try:
            return cls.model_validate_json(_record(settings).read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            return None

    def keep(self, settings: Settings) -> None:
        """Write the record in place of the last."""
        path = _record(settings)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")


def fingerprint_of(settings: Settings, request: RunRequest, solver: str, commit: str) -> str:
    """Names what is played and how, without the keys.

    Args:
        solver: the fingerprint of its code, as workers publish it.
        commit: of the working folder.
    """
    parts = {
        "solver": [request.solver, solver],
        "commit": commit,
        "version": version("scrimmage"),
        "request": request.model_dump(mode="json", exclude={"seed", "sweep"}),
        "settings": {name: str(getattr(settings, name)) for name in _MATTER},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def faults(seed: int) -> dict[str, Any]:
    """What goes wrong in a rehearsal, on every endpoint: errors, lost answers, hangs, cut bodies, 429s.

    Args:
        seed: which requests are hit; another one for each rehearsal, lest a run be tuned to one course of it.
    """
    rules: list[Any] = [
        {"fault": "status", "status": 500, "probability": 0.05},
        {"fault": "drop", "when": "after", "probability": 0.05},
        {"fault": "hang", "seconds": 10, "probability": 0.02},
        {"fault": "truncate", "probability": 0.02},
        {"fault": "too_many", "retry_after": 1, "probability": 0.02},
    ]
    # /me is left alone: preflight asks once, and its answer is not what a rehearsal is about.
    endpoints = ("* /runs", "* /runs/**", "* /tools")
    return {"seed": seed, "rules": [{"endpoint": each, **rule} for rule in rules for each in endpoints]}


def stage(settings: Settings, folder: Path, url: str, key: str) -> Settings:
    """The settings of a rehearsal: the emulator instead of the platform, a pool of its own in ``folder``.

    The model is asked with the dev key where there is one: the other's money is for the run that counts.
    """
    return settings.model_copy(
        update={
            "redis_url": None,
            "broker_url": None,
            "cache_url": None,
            "arena_url": url,
            "arena_key": SecretStr(key),
            "eval_model_key": settings.model_key or settings.eval_model_key,
            "data": folder,
            "archive": folder / "archive",
        }
    )


def judge(row: Summary, books: JsonObject) -> tuple[bool, str]:
    """Whether a rehearsal passed, and the figures in one line.

    It has where the run was sealed before its deadline, every task that was solved was submitted, at least
    one was, and none twice.

    Args:
        row: the rehearsed run.
        books: what the emulator counted.
    """
    accounts: Any = books["accounts"]
    page = accounts.get("team-1", {})
    again = page.get("duplicate_submits", {})
    twice = sorted(name for name in again if name.startswith(f"{row.run_id}/"))
    left = sorted(failure.task_id for failure in row.failures if failure.status in {"solved", "submitting"})
    detail = (
        f"{row.status}, {row.tasks_submitted} of {row.tasks_total} submitted in {row.wall_seconds or 0:.0f} s"
    )
    if twice:
        detail += f"; submitted twice: {', '.join(twice)}"
    if left:
        detail += f"; solved and not submitted: {', '.join(left)}"
    passed = row.status == "finished" and row.tasks_submitted > 0 and not twice and not left
    return passed, detail


def record(passed: bool, detail: str, mark: str) -> Rehearsal:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Rehearsal(fingerprint=mark, passed=passed, at=at, detail=detail)


def _record(settings: Settings) -> Path:
    return settings.data / "rehearsal.json"
