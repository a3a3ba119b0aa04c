"""What must be true after every scenario, whatever was broken: read from the platform's books and the ledger.

=========  ===================================================================================================
ends       every run ends in a final state within its time
once       no task is submitted twice; one is submitted exactly if the ledger says so
all        every task is submitted (or one less, as its setup says), with the score of a run without faults
twice      no effect happens twice
done       what a submitted task declared has happened
sealed     the run is closed by us, before its deadline
limit      no request is over the platform's limit
cost       what the model billed is in the ledger: settled, or unsettled at its estimate or more
fence      a lease that was taken back reports nothing; the platform has the solution that the ledger has
recovery   what was measured stays within its bound
=========  ===================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shared.models import RunRef, RunStatus, TaskStatus
from tests.chaos.stage import Stage

_OVER = {"solved", "waiting", "fault", "gave_up", "lost"}
"""Events that end a lease."""


def _ends(stage: Stage, ref: RunRef) -> Iterator[str]:
    status = stage.state(ref).status
    if status not in {RunStatus.FINISHED, RunStatus.EXPIRED}:
        yield f"is {status}: {stage.state(ref).reason}"


def _once(stage: Stage, ref: RunRef) -> Iterator[str]:
    again = stage.books().get("duplicate_submits", {})
    yield from (f"{name} was submitted again, {count} times" for name, count in again.items())
    shown = stage.shown(ref)
    for task in stage.pool.ledger.tasks(ref):
        theirs = shown.work(task.task_id).submission is not None
        ours = task.receipt is not None and task.receipt.accepted
        if theirs != ours:
            yield f"{task.task_id}: submitted is {ours} here and {theirs} on the platform"


def _all(stage: Stage, ref: RunRef) -> Iterator[str]:
    shown = stage.shown(ref)
    missing = [task_id for task_id, work in shown.works.items() if work.submission is None]
    if len(missing) > stage.setup.spare:
        yield f"not submitted: {', '.join(missing)} ({stage.state(ref).failures})"
    elif not missing and shown.accuracy != 1.0:
        yield f"accuracy is {shown.accuracy}"


def _twice(stage: Stage, ref: RunRef) -> Iterator[str]:
    for task_id, work in stage.shown(ref).works.items():
        done = list(work.state.done)
        if any(done.count(effect) > 1 for effect in done):
            yield f"{task_id}: an effect happened twice: {done}"


def _done(stage: Stage, ref: RunRef) -> Iterator[str]:
    for task in stage.pool.ledger.tasks(ref):
        work = stage.shown(ref).work(task.task_id)
        declared = task.solution.effects if task.solution else ()
        if work.submission is not None and len(work.state.done) < len(declared):
            yield f"{task.task_id}: {len(work.state.done)} of {len(declared)} effects happened"


def _sealed(stage: Stage, ref: RunRef) -> Iterator[str]:
    shown = stage.shown(ref)
    if shown.status != "finished":
        yield f"is {shown.status} on the platform"


def _limit(stage: Stage, ref: RunRef) -> Iterator[str]:
    over = stage.books().get("over_limit", 0)
    if over:
        yield f"{over} requests were over the limit"


def _cost(stage: Stage, ref: RunRef) -> Iterator[str]:
    ours = stage.pool.spend.totals(ref)
    theirs = stage.meter.billed[ref.run_id]
    if not ours.settled <= theirs <= ours.settled + ours.unsettled:
        yield f"{theirs} micro-dollars were billed; settled {ours.settled}, unsettled {ours.unsettled}"


def _fence(stage: Stage, ref: RunRef) -> Iterator[str]:
    leased: dict[str, bool] = {}
    for event in stage.pool.ledger.events(ref):
        if event.task_id and event.name == "leased":
            if leased.get(event.task_id):
                yield f"{event.task_id} was leased while it was leased"
            leased[event.task_id] = True
        elif event.task_id and event.name in _OVER:
            if event.name == "solved" and not leased.get(event.task_id):
                yield f"{event.task_id} was reported without a lease"
            leased[event.task_id] = False
    shown = stage.shown(ref)
    for task in stage.pool.ledger.tasks(ref):
        theirs = shown.work(task.task_id).submission
        ours = task.solution if task.status is TaskStatus.SUBMITTED else None
        if theirs and ours and theirs.answer != ours.answer:
            yield f"{task.task_id}: {theirs.answer} was submitted, {ours.answer} was decided"


_OF_A_RUN: dict[str, Callable[[Stage, RunRef], Iterator[str]]] = {
    "ends": _ends,
    "once": _once,
    "all": _all,
    "twice": _twice,
    "done": _done,
    "sealed": _sealed,
    "limit": _limit,
    "cost": _cost,
    "fence": _fence,
}
NAMES = (*_OF_A_RUN, "recovery")


def violations(stage: Stage, excused: frozenset[str]) -> dict[str, list[str]]:
    """By invariant, what speaks against it; those that a scenario is excused from are left out."""
    found = {
        name: [f"{ref}: {line}" for ref in stage.opened for line in look(stage, ref)]
        for name, look in _OF_A_RUN.items()
        if name not in excused
    }
    found["recovery"] = [
        f"{name} took {seconds:.1f} s, not {bound:g}"
        for name, (seconds, bound) in stage.measured.items()
        if seconds > bound
    ]
    return found
