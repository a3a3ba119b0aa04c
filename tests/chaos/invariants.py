"""What must be true after every scenario, whatever was broken: read from the platform's books and the ledger.

=========  ===================================================================================================
ends       every run ends in a final state within its time
once       no task is submitted twice; one is submitted exactly if the ledger says so
all        every task is submitted (or one less, as its setup says)
score      the score is that of a run without faults
twice      no effect happens twice
done       what a submitted task declared has happened
sealed     the run is closed by us, before its deadline
limit      no request is over the platform's limit
cost       what the model billed is in the ledger: settled, or unsettled at its estimate or more
fence      a lease that was taken back decides and reports nothing; the platform has what the ledger has
recovery   what was measured stays within its bound
=========  ===================================================================================================

`tests.chaos.defects` has for each of them a defect that breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from shared.models import RunRef, RunStatus, TaskStatus
from shared.pool.ledger import TaskState
from tests.chaos.watching import Watching

_OVER = {"solved", "waiting", "fault", "gave_up", "lost"}
"""Events that end a lease."""


def _ends(stage: Watching, ref: RunRef) -> Iterator[str]:
    status = stage.state(ref).status
    if status not in {RunStatus.FINISHED, RunStatus.EXPIRED}:
        yield f"is {status}: {stage.state(ref).reason}"


def _once(stage: Watching, ref: RunRef) -> Iterator[str]:
    again = stage.books().get("duplicate_submits", {})
    yield from (f"{name} was submitted again, {count} times" for name, count in again.items())
    shown = stage.shown(ref)
    for task in stage.pool.ledger.tasks(ref):
        theirs = shown.work(task.task_id).submission is not None
        ours = task.receipt is not None and task.receipt.accepted
        if theirs != ours:
            yield f"{task.task_id}: submitted is {ours} here and {theirs} on the platform"


def _missing(stage: Watching, ref: RunRef) -> list[str]:
    return [task_id for task_id, work in stage.shown(ref).works.items() if work.submission is None]


def _all(stage: Watching, ref: RunRef) -> Iterator[str]:
    missing = _missing(stage, ref)
    if len(missing) > stage.setup.spare:
        yield f"not submitted: {', '.join(missing)} ({stage.state(ref).failures})"


def _score(stage: Watching, ref: RunRef) -> Iterator[str]:
    for task_id, work in stage.shown(ref).works.items():
        if work.submission is not None and work.submission.grade.score != 1.0:
            yield f"{task_id} has {work.submission.grade.score}: {work.submission.grade.feedback}"


def _twice(stage: Watching, ref: RunRef) -> Iterator[str]:
    for task_id, work in stage.shown(ref).works.items():
        done = list(work.state.done)
        if any(done.count(effect) > 1 for effect in done):
            yield f"{task_id}: an effect happened twice: {done}"


def _done(stage: Watching, ref: RunRef) -> Iterator[str]:
    for task in stage.pool.ledger.tasks(ref):
        work = stage.shown(ref).work(task.task_id)
        declared = task.solution.effects if task.solution else ()
        if work.submission is not None and len(work.state.done) < len(declared):
            yield f"{task.task_id}: {len(work.state.done)} of {len(declared)} effects happened"


def _sealed(stage: Watching, ref: RunRef) -> Iterator[str]:
    shown = stage.shown(ref)
    if shown.status != "finished":
        yield f"is {shown.status} on the platform"


def _limit(stage: Watching, ref: RunRef) -> Iterator[str]:
    over = stage.books().get("over_limit", 0)
    if over:
        yield f"{over} requests were over the limit"


def _cost(stage: Watching, ref: RunRef) -> Iterator[str]:
    """The endpoint bills a key, not a run: all runs together."""
    spent = [stage.pool.spend.totals(each) for each in stage.opened]
    settled, unsettled = sum(part.settled for part in spent), sum(part.unsettled for part in spent)
    billed = stage.billed()
    if not settled <= billed <= settled + unsettled:
        yield f"{billed} micro-dollars were billed; settled {settled}, unsettled {unsettled}"


def _fence(stage: Watching, ref: RunRef) -> Iterator[str]:
    tasks = {task.task_id: task for task in stage.pool.ledger.tasks(ref)}
    owners: dict[str, str | None] = {}
    for event in stage.pool.ledger.events(ref):
        if not event.task_id:
            continue
        owner = owners.get(event.task_id)
        if event.name == "leased":
            if owner:
                yield f"{event.task_id} was leased while it was leased"
            owners[event.task_id] = event.data["owner"]
        elif event.name == "decided" and not _decided_by(tasks[event.task_id], owner):
            yield f"{event.task_id}: {owner or 'nobody'} held the lease, another decided"
        elif event.name in _OVER:
            if event.name == "solved" and not owner:
                yield f"{event.task_id} was reported without a lease"
            owners[event.task_id] = None
    yield from _as_decided(stage, ref, tasks.values())


def _decided_by(task: TaskState, owner: str | None) -> bool:
    """Whether the holder of the lease made the decision; the small world's answers tell by whom they are."""
    answer = task.solution.answer if task.solution else None
    by = answer.get("by") if isinstance(answer, dict) else None
    return owner is not None and (by is None or f"-{by}-" in owner)


def _as_decided(stage: Watching, ref: RunRef, tasks: Iterable[TaskState]) -> Iterator[str]:
    shown = stage.shown(ref)
    for task in tasks:
        theirs = shown.work(task.task_id).submission
        ours = task.solution if task.status is TaskStatus.SUBMITTED else None
        if theirs and ours and theirs.answer != ours.answer:
            yield f"{task.task_id}: {theirs.answer} was submitted, {ours.answer} was decided"


_OF_A_RUN: dict[str, Callable[[Watching, RunRef], Iterator[str]]] = {
    "ends": _ends,
    "once": _once,
    "all": _all,
    "score": _score,
    "twice": _twice,
    "done": _done,
    "sealed": _sealed,
    "limit": _limit,
    "cost": _cost,
    "fence": _fence,
}
NAMES = (*_OF_A_RUN, "recovery")


def violations(stage: Watching, excused: frozenset[str]) -> dict[str, list[str]]:
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
