"""One run in one row: what `--json` prints, what tables show, and what the archive keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.models import Frozen, RunRef

if TYPE_CHECKING:
    from shared.pool.ledger import RunState
    from shared.pool.pool import Pool


class Failure(Frozen):
    """A task that got no submission, and why: ``gave_up`` tells a solver's failure from bad luck."""

    task_id: str
    status: str
    reason: str | None = None


class Summary(Frozen):
    """A run in one row; None where a figure is not known.

    ``cost_usd`` is the platform's figure where it gives one, else the pool's own count; ``pool_cost_usd`` is
    always the latter. ``wall_seconds`` runs from the opening to the end, on Redis's clock.
    """

    run_id: str
    platform: str
    kind: str
    seed: int | None = None
    variation: int | None = None
    theme: str | None = None
    solver: str
    sweep: str | None = None
    status: str
    tasks_total: int
    tasks_submitted: int
    accuracy: float | None = None
    cost_usd: float | None = None
    cost_score: float | None = None
    final_score: float | None = None
    pool_cost_usd: float | None = None
    requests: int | None = None
    wall_seconds: float | None = None
    failures: tuple[Failure, ...] = ()

    @property
    def ref(self) -> RunRef:
        return RunRef(platform=self.platform, run_id=self.run_id)

    @property
    def complete(self) -> bool:
        """True where the run is finished and every task was submitted."""
        return self.status == "finished" and self.tasks_submitted == self.tasks_total


def summarise(pool: Pool, state: RunState) -> Summary:
    """The row of a run from its state in the ledger."""
    run, card = state.run, state.scorecard
    statuses = {task.task_id: task.status for task in pool.ledger.tasks(state.ref)}
    spent = pool.spend.totals(state.ref)
    pool_cost = (spent.settled + spent.unsettled) / 1e6
    known_cost = card.cost_usd if card is not None and card.cost_usd is not None else pool_cost
    return Summary(
        run_id=state.ref.run_id,
        platform=state.ref.platform,
        kind=run.kind,
        seed=run.seed,
        variation=run.variation,
        theme=run.theme,
        solver=state.request.solver,
        sweep=state.request.sweep,
        status=state.status,
        tasks_total=max(state.tasks_total, card.tasks_total or 0) if card else state.tasks_total,
        tasks_submitted=state.submitted,
        accuracy=card.accuracy if card else None,
        cost_usd=known_cost,
        cost_score=card.cost_score if card else None,
        final_score=card.final_score if card else None,
        pool_cost_usd=pool_cost,
        requests=state.requests,
        wall_seconds=None if state.ended_at is None else state.ended_at - state.opened_at,
        failures=tuple(
            Failure(task_id=task_id, status=statuses[task_id], reason=reason)
            for task_id, reason in state.failures.items()
        ),
    )
