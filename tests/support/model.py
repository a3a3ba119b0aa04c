"""A task with a model at hand, without a worker around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from shared.deadline import Deadline
from shared.models import Kind, RunRef
from shared.pool.ledger import Lease
from shared.pool.pool import Pool
from shared.settings import Settings
from tests.support.ledger import a_run, lease, open_run
from workers.logs import Mask
from workers.model import Model
from workers.model.models import Models
from workers.transcript import Transcript

THEME, SEED, VARIATION = "hub", 5, 7
SCENARIO = f"{THEME}:{SEED}:{VARIATION}"
"""The scenario that stand-ins of these tests know."""


def settings_for(url: str, **changes: Any) -> Settings:
    """Settings that lead to a model; keys of the stand-in's first team."""
    values = {
        "model_url": url,
        "model": "scrimmage/stand-in",
        "model_key": SecretStr("sk-stand-in-dev-1"),
        "eval_model_key": SecretStr("sk-stand-in-final-1"),
        "model_timeout": 30.0,
        **changes,
    }
    return Settings.load(_env_file=None, **values)


@dataclass
class Playing:
    """One leased task with its model."""

    pool: Pool
    ref: RunRef
    lease: Lease
    transcript: Transcript
    models: Models
    seconds: float = 30.0

    @property
    def model(self) -> Model:
        model = self.models.of(self.lease, Deadline.after(self.seconds), self.transcript)
        assert model is not None
        return model

    def notes(self, event: str = "model") -> list[dict[str, Any]]:
        """What the transcript says, of one kind of event."""
        self.transcript.flush()
        entries = self.pool.transcripts.read(self.ref, self.lease.task_id)
        return [entry for entry in entries if entry["event"] == event]


def playing(
    pool: Pool,
    url: str,
    *,
    task_id: str = "t1",
    run_id: str = "run_1",
    settings: dict[str, Any] | None = None,
    kind: Kind = Kind.DEV,
    tasks: int = 3,
    **request: Any,
) -> Playing:
    """Open a run of so many tasks and lease one of them."""
    chosen = settings_for(url, **(settings or {}))
    ref = a_run(run_id).ref
    if pool.ledger.run(ref) is None:
        open_run(pool.ledger, a_run(run_id, tasks, kind=kind), **request)
    held = lease(pool.ledger, ref, task_id)
    transcript = Transcript(pool.transcripts, ref, task_id, 1, Mask.of(chosen))
    return Playing(pool, ref, held, transcript, Models(chosen, pool))
