"""What is true about each run, here and on its platform, and going on with it.

The ledger says what we did, the platform what arrived. Where they differ the platform is right about what was
submitted, the ledger about what was solved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence

from rich.console import Console

from producer.archive import Archive
from producer.final import FinalRun, with_finals
from producer.local import LocalPool
from producer.notebook import Note, Notebook
from producer.runs import rebuild, settle
from producer.summary import Summary
from producer.sweeps import Sweep, close_due
from producer.watch import play_watched
from shared.deadline import Deadline
from shared.errors import ScrimmageError, SettingsError
from shared.models import Frozen, Kind, Run, RunRef, RunStatus, TaskStatus
from shared.platforms import registry
from shared.platforms.base import Platform
from shared.pool.ledger import Opening, RunState
from shared.pool.pool import Pool
from shared.settings import Settings

LOST = "lost"
"""What `status` says of a run that was begun here and is in the ledger no more."""

_RECALL = "`resume` brings it back from the platform"


class Situation(Frozen):
    """One line of `status`. ``here`` is the ledger's word, None for a run that only the platform knows."""

    name: str
    here: str | None
    there: str | None = None
    tasks: str | None = None
    seconds_left: float | None = None
    plan: str


def situation(settings: Settings, pool: Pool) -> list[Situation]:
    """Every run that is under way, here or on a platform: what either says, and what would be done."""
    rows = [
        Situation(
            name=opening.request_id,
            here=RunStatus.OPENING,
            plan=_plan_of_opening(opening),
        )
        for opening in pool.ledger.openings()
    ]
    states = pool.ledger.runs()
    with contextlib.closing(_Platforms(settings, pool)) as platforms:
        rows += _runs(settings, pool, states, platforms)
    return rows


def _runs(
    settings: Settings, pool: Pool, states: Sequence[RunState], platforms: _Platforms
) -> list[Situation]:
    """The runs of the ledger, then those that are active on a platform alone, then those lost on both."""
    rows = []
    tended = bool(pool.fleet.live())
    for state in states:
        submitted = state.counts.get(TaskStatus.SUBMITTED, 0)
        rows.append(
            Situation(
                name=str(state.ref),
                here=state.status,
                there=platforms.say(state),
                tasks=f"{submitted}/{sum(state.counts.values())} submitted",
                seconds_left=None if state.status.final else state.seconds_left,
                plan=_plan(state, tended),
            )
        )
    lost = _lost(settings, pool)
    known = {state.ref for state in states}
    for name in platforms.reachable():
        rows += platforms.elsewhere(name, known, {note.ref: note for note in lost})
    shown = {row.name for row in rows}
    for note in lost:
        if (name := str(note.ref or note.request_id)) not in shown:
            rows.append(Situation(name=name, here=LOST, plan=_RECALL))
    return rows


def _lost(settings: Settings, pool: Pool) -> list[Note]:
    """What was begun from this data folder, and is neither in the ledger nor archived: Redis lost it."""
    notebook, archive = Notebook(settings.data), Archive(settings.archive)
    notes = notebook.notes()
    held = {opening.request_id for opening in pool.ledger.openings()}
    held |= {state.request_id for state in pool.ledger.runs()}
    lost = []
    for note in notes:
        if note.ref is not None and archive.has(note.ref):
            notebook.forget(note.request_id)
        elif note.request_id not in held:
            lost.append(note)
    return lost


def _plan_of_opening(opening: Opening) -> str:
    if opening.request.kind is Kind.FINAL:
        return "`final` looks whether it has begun, and goes on with it"
    return "`resume` looks whether the platform opened it, and opens it if not"


def _plan(state: RunState, tended: bool) -> str:
    """What would be done. ``tended``: there are workers alive."""
    if state.status.final:
        return "nothing" if state.archived else "the next `run`, `sweep` or `resume` archives it"
    if not tended:
        return "no worker is alive: `resume` goes on with it, or workers that are started"
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

    def close(self) -> None:
        for platform in self._made.values():
            platform.close()

    def reachable(self) -> list[str]:
        """Platforms for which a key is set here."""
        found = []
        for name in registry.platforms(self._settings):
            with contextlib.suppress(SettingsError):
                self.get(name).account()
                found.append(name)
        return found

    def elsewhere(
        self, name: str, known: Collection[RunRef], lost: Mapping[RunRef | None, Note]
    ) -> list[Situation]:
        """Runs that are active on a platform and not in the ledger."""
        try:
            listed = self.get(name).runs(Deadline.after(10))
        except ScrimmageError as error:
            return [Situation(name=name, here=None, there=f"not known: {error}", plan="nothing")]
        rows = []
        for run in listed:
            if run.get("status") != "active":
                continue
            ref = RunRef(platform=name, run_id=str(run["run_id"]))
            if ref in known:
                continue
            plan = "nothing: it was opened elsewhere"
            if ref in lost:
                plan = _RECALL
            elif run.get("kind") == Kind.FINAL:
                plan = "nothing; `final` takes it up, if no other pool plays it"
            there = f"active, {run.get('kind') or 'run'}"
            rows.append(Situation(name=str(ref), here=LOST if ref in lost else None, there=there, plan=plan))
        return rows


def resume_all(local: LocalPool, console: Console, say: Callable[[str], None], played: Sweep) -> None:
    """Bring back what Redis lost, settle openings, follow what is in flight, archive what ended meanwhile.

    Args:
        played: gets all of that, and has it however this ends.
    """
    settings, pool = local.settings, local.pool
    archive = Archive(settings.archive)
    played.done += close_due(pool, archive)
    played.total += len(played.done)
    if played.done:
        say(f"archived runs that had ended meanwhile: {len(played.done)}")
    with contextlib.closing(_Platforms(settings, pool)) as platforms:
        for note in _lost(settings, pool):
            found = rebuild(pool, platforms.get(note.request.platform), note)
            say(
                f"{found} was lost here: brought back"
                if found
                else f"{note.request_id} is gone: nothing was opened"
            )
        for opening in pool.ledger.openings():
            platform = platforms.get(opening.request.platform)
            if opening.request.kind is Kind.FINAL:
                ref = FinalRun(pool, with_finals(platform), opening.request).under_way()
            else:
                ref = settle(pool, platform, opening)
            say(f"{ref} was being opened" if ref else f"{opening.request_id} is given up: no run was opened")
        flying = [state.ref for state in pool.ledger.runs() if not state.status.final]
        if flying:
            local.staff()
        for name in sorted({ref.platform for ref in flying}):
            refs = [ref for ref in flying if ref.platform == name]
            _follow(pool, platforms.get(name), archive, refs, console, played)


def finish_now(local: LocalPool, ref: RunRef, console: Console, played: Sweep) -> None:
    """Have the workers drain and seal a run now, whatever is still pending, and follow it to its end."""
    kind = local.pool.ledger.close(ref)
    local.pool.jobs.finish(ref, kind)
    follow(local, [ref], console, played)


def follow(local: LocalPool, refs: Sequence[RunRef], console: Console, played: Sweep) -> None:
    """Follow runs of one platform to their end, with live progress, and archive them."""
    platform = registry.create(refs[0].platform, local.settings, local.pool)
    _follow(local.pool, platform, Archive(local.settings.archive), refs, console, played)


def _follow(
    pool: Pool, platform: Platform, archive: Archive, refs: Sequence[RunRef], console: Console, played: Sweep
) -> None:
    if not pool.fleet.live():
        console.print("no worker is alive on this pool: nothing moves until one is started")
    play_watched(
        pool,
        platform,
        [],
        in_flight=len(refs),
        archive=archive,
        console=console,
        sweep=played,
        joined=refs,
    )


def refreshed(archive: Archive, platform: Platform, ref: RunRef, deadline: Deadline) -> Summary:
    """Fetch an archived run's scores again and keep them. Returns its new row."""
    archived = archive.load(ref)
    run = Run.model_validate(archived.run["run"])
    card = platform.refresh(run, deadline)
    return archive.update(ref, card).summary
