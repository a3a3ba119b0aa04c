"""What stands at the end of a command that played: runs as rows, one run's scorecard, what to type next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from producer.cli.ending import INCOMPLETE, fail
from producer.cli.output import dollars, print_json, print_text, say, score, seconds, table, warn
from producer.interrupt import Interrupted
from shared.errors import ScrimmageError
from shared.models import RunStatus

if TYPE_CHECKING:
    from producer.archive import Archive, ArchivedTask
    from producer.summary import Failure, Summary
    from producer.sweeps import Sweep


def show(played: Sweep, archive: Archive) -> None:
    """Print a sweep that is over. Ends the command with exit code 1 where it is incomplete.

    Raises:
        Refused: nothing was played, since the platform said no.
    """
    code = _code(played)
    print_runs(played.done, archive)
    for problem in (*played.refused, *played.unkept):
        warn(problem)
    if code:
        raise typer.Exit(code)


def tell(played: Sweep) -> None:
    """The same for scripts. The last thing that a command does: nothing may come after its one object."""
    code = _code(played)
    print_json(_known(played), code)
    if code:
        raise typer.Exit(code)


def _code(played: Sweep) -> int:
    if played.refused and not played.done:
        raise played.refused[0]
    return INCOMPLETE if played.incomplete else 0


@contextmanager
def account(json: bool, beside: Mapping[str, object] | None = None) -> Iterator[Sweep]:
    """What is played in here. If it breaks off, the command ends with what is over and what is in flight.

    Args:
        beside: what else scripts get to know then; read at the end.
    """
    from producer.sweeps import Sweep

    played = Sweep()
    try:
        yield played
    except (Interrupted, ScrimmageError) as error:
        if played.done and not json:
            print_rows(played.done)
        if played.flying:
            flying = ", ".join(map(str, played.flying))
            warn(f"nothing is lost; in flight: {flying}. `scrimmage resume` goes on with them")
        elif played.opening:
            warn("a run may have been opened: `scrimmage resume` looks, and goes on with it")
        fail(error, **_known(played), **(beside or {}))


def _known(played: Sweep) -> dict[str, object]:
    """What a script gets to know of a sweep, over or broken off."""
    return {
        "runs": [row.model_dump(mode="json") for row in played.done],
        "in_flight": [str(ref) for ref in played.flying],
        "refused": [str(refusal) for refusal in played.refused],
        "unkept": [str(problem) for problem in played.unkept],
    }


def print_runs(rows: Sequence[Summary], archive: Archive) -> None:
    """Runs as rows, summed up; the tasks without a submission; where all of it is kept."""
    print_rows(rows)
    kept = [row for row in rows if archive.has(row.ref)]
    print_text()
    if len(rows) == 1 and kept and rows[0].accuracy is not None:
        table(("level", "tasks", "score"), _by_level(archive.load(rows[0].ref).tasks.values()))
    elif len(rows) > 1:
        table(("solver", "runs", "accuracy", "cost"), _by_solver(rows))
    for row in rows:
        for tasks, failure in _alike(row.failures):
            warn(f"{row.ref} {tasks}: {failure.status}, {failure.reason or 'not tried'}")
    if kept:
        last = kept[-1]
        where = archive.folder(last.ref) if len(kept) == 1 else archive.root
        say(f"kept in  {where}; look closer: scrimmage show {last.run_id} (and a task: t01)")
    for row in kept:
        if row.accuracy is None and row.tasks_submitted:
            say(f"scores   not out yet: scrimmage refresh {row.run_id} fetches them once they are")


def print_rows(rows: Sequence[Summary]) -> None:
    """Runs as a table. Their status has a column where it is not `finished` for all."""
    columns: dict[str, Callable[[Summary], object]] = {
        "run": lambda row: row.run_id,
        "seed": lambda row: row.seed,
        "solver": lambda row: row.solver,
        "status": lambda row: row.status,
        "tasks": lambda row: f"{row.tasks_submitted}/{row.tasks_total}",
        "accuracy": lambda row: score(row.accuracy),
        "cost": lambda row: dollars(row.cost_usd),
        "score": lambda row: score(row.final_score),
        "requests": lambda row: row.requests,
        "time": lambda row: seconds(row.wall_seconds),
    }
    if all(row.status == RunStatus.FINISHED for row in rows):
        del columns["status"]
    table(list(columns), ([cell(row) for cell in columns.values()] for row in rows))


def _by_level(tasks: Iterable[ArchivedTask]) -> list[tuple[object, ...]]:
    """Level by level, then all: tasks, mean score."""
    scores: dict[int | None, list[float | None]] = defaultdict(list)
    for task in tasks:
        scores[task.level].append(task.grade.score if task.grade else None)
    levels = sorted(scores.items(), key=lambda item: item[0] or 0)
    every = [value for found in scores.values() for value in found]
    return [(name, len(found), score(_mean(found))) for name, found in [*levels, ("all", every)]]


def _by_solver(rows: Iterable[Summary]) -> list[tuple[object, ...]]:
    """Solver by solver: runs, mean accuracy, mean cost."""
    played: dict[str, list[Summary]] = defaultdict(list)
    for row in rows:
        played[row.solver].append(row)
    return [
        (
            solver,
            len(found),
            score(_mean([row.accuracy for row in found])),
            dollars(_mean([row.cost_usd for row in found])),
        )
        for solver, found in sorted(played.items())
    ]


def _mean(values: Sequence[float | None]) -> float | None:
    """None where nothing is known; what is not known of some counts as 0."""
    if all(value is None for value in values):
        return None
    return sum(value or 0.0 for value in values) / len(values)


def _alike(failures: Iterable[Failure]) -> list[tuple[str, Failure]]:
    """Failures of one reason as one: their tasks, and one of them."""
    groups: dict[tuple[str, str | None], list[Failure]] = defaultdict(list)
    for failure in failures:
        groups[failure.status, failure.reason].append(failure)
    return [(", ".join(failure.task_id for failure in group), group[0]) for group in groups.values()]
