"""The two jobs. Each checks its message and hands it to the module of its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import structlog
from pydantic import JsonValue, ValidationError

from shared.errors import ScrimmageError
from shared.pool.jobs import FINISH, SOLVE, FinishJob, SolveJob
from workers import finish as finishing
from workers import solve as solving
from workers import worker
from workers.app import app

J = TypeVar("J", bound=FinishJob)

log = structlog.get_logger(__name__)


def solve(**message: JsonValue) -> None:
    """Play one task: ``platform, run_id, task_id, solver``."""
    _handle(SolveJob, message, solving.solve)


def finish(**message: JsonValue) -> None:
    """Drain one run: ``platform, run_id``."""
    _handle(FinishJob, message, finishing.finish)


app.task(solve, name=SOLVE)
app.task(finish, name=FINISH)


def _handle(model: type[J], message: dict[str, JsonValue], work: Callable[[worker.Worker, J], None]) -> None:
    """A message that is not ours is dropped; a failure leaves the rest to tend, which reads the ledger."""
    try:
        job = model.model_validate(message)
    except ValidationError as error:
        rows = error.errors(include_input=False, include_url=False)
        log.error("job_refused", job=model.__name__, fields=[f"{row['loc']}: {row['msg']}" for row in rows])
        return
    try:
        work(worker.current(), job)
    except ScrimmageError as error:
        log.error("job_ended_early", job=model.__name__, run=str(job.ref), reason=str(error))
