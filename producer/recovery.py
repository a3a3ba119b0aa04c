"""What is true about each run, here and on its platform, and going on with it.

The ledger says what we did, the platform what arrived. Where they differ the platform is right about what was
submitted, the ledger about what was solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from shared.pool.pool import Pool

from producer.archive import Archive
from producer.runs import settle
from producer.summary import Summary
from producer.sweeps import Sweep, play
from producer.watch import Progress, snapshot
from shared.deadline import Deadline
from shared.errors import ScrimmageError
from shared.models import Frozen, Run, RunRef, RunStatus, TaskStatus
from shared.platforms import registry
from shared.platforms.base import Platform
from shared.pool.ledger import RunState
from shared.settings import Settings


class Situation(Frozen):
    """One line of `status`."""

    name: str
    here: str
    there: str | None = None
    tasks: str | None = None
    seconds_left: float | None = None
    plan: str


def situation(settings: Settings, pool: Pool) -> list[Situation]:
    """Every opening and every run that the ledger holds, beside what the platform shows."""
    rows = [
        Situation(
            name=opening.request_id,
            here=RunStatus.OPENING,
            plan="`resume` looks whether the platform opened it, and opens it if not",
        )
        for opening in pool.ledger.openings()
    ]
    platforms = _Platforms(settings, pool)
    for state in pool.ledger.runs():
        submitted = state.counts.get(TaskStatus.SUBMITTED, 0)
        rows.append(
            Situation(
                name=str(state.ref),
                here=state.status,
                there=platforms.say(state),
                tasks=f"{submitted}/{sum(state.counts.values())} submitted",
                seconds_left=state.seconds_left,
                plan=_plan(state),
            )
        )
    return rows


def _plan(state: RunState) -> str:
    if state.status.final:
        return "nothing" if state.archived else "the next `run`, `sweep` or `resume` archives it"
    waiting = state.counts.get(TaskStatus.WAITING, 0)
    if state.status is RunStatus.FINISHING:
        return "workers submit what is solved and close it"
    return "workers play it" + (f"; {waiting} tasks wait for their time" if waiting else "")


class _Platforms:
    """Platforms by name, made once; what they say of a run, errors included."""

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self._settings = settings
        self._pool = pool
        self._made: dict[str, Platform] = {}

    def get(self, name: str) -> Platform:
        if name not in self._made:
            self._made[name] = registry.create(name, self._settings, self._pool)
        return self._made[name]

    def say(self, state: RunState) -> str:
        try:
            view = self.get(state.ref.platform).look(state.run, Deadline.after(10))
        except ScrimmageError as error:
            return f"not known: {error}"
        submitted = sum(task.submitted for task in view.tasks.values())
        return f"{view.status}, {submitted} submitted"


def resume_all(settings: Settings, pool: Pool, console: Console, say: Callable[[str], None]) -> Sweep:
    """Settle openings, follow what is in flight to its end, archive what ended meanwhile."""
    platforms = _Platforms(settings, pool)
    archive = Archive(settings.archive)
    kept = archive.save_due(pool)
    if kept:
        say(f"archived {len(kept)} runs that had ended meanwhile")
    for opening in pool.ledger.openings():
        ref = settle(pool, platforms.get(opening.request.platform), opening)
        say(f"{opening.request_id} is {ref}")
    flying = [state.ref for state in pool.ledger.runs() if not state.status.final]
    played = Sweep(total=0)
    for name in sorted({ref.platform for ref in flying}):
        refs = [ref for ref in flying if ref.platform == name]
        part = _follow(pool, platforms.get(name), archive, refs, console)
        played.total += part.total
        played.done += part.done
    return played


def finish_now(settings: Settings, pool: Pool, ref: RunRef, console: Console) -> Sweep:
    """Have the workers drain and seal a run now, whatever is still pending, and follow it to its end."""
    kind = pool.ledger.close(ref)
    pool.jobs.finish(ref, kind)
    platform = registry.create(ref.platform, settings, pool)
    return _follow(pool, platform, Archive(settings.archive), [ref], console)


def _follow(
    pool: Pool, platform: Platform, archive: Archive, refs: Sequence[RunRef], console: Console
) -> Sweep:
    with Progress(console, platform.limits) as view:
        return play(
            pool,
            platform,
            [],
            in_flight=len(refs),
            archive=archive,
            joined=refs,
            view=lambda sweep: view.show(
                snapshot(pool, sweep.flying.values(), over=len(sweep.done), total=sweep.total)
            ),
        )


def refreshed(archive: Archive, platform: Platform, ref: RunRef, deadline: Deadline) -> Summary:
    """Fetch an archived run's scores again and keep them. Returns its new row."""
    archived = archive.load(ref)
    run = Run.model_validate(archived.run["run"])
    card = platform.refresh(run, deadline)
    return archive.update(ref, card).summary
