"""Looking at runs and taking them up again: `watch`, `status`, `resume`, `finish`, `refresh`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.options import Json, RunName
from producer.cli.output import print_json, progress, say, seconds, table
from shared.deadline import Deadline
from shared.errors import UsageError
from shared.settings import Settings

if TYPE_CHECKING:
    from producer.archive import Archive
    from shared.models import RunRef
    from shared.pool.pool import Pool

_TICK_SECONDS = 0.2
_REFRESH_SECONDS = 60.0


def watch(
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN…", help="Runs to watch; all that are not over where none is named."),
    ] = None,
) -> None:
    """Follow runs until they are over. Watching changes nothing; Ctrl-C stops the watching alone.

    Examples:
      [bold]scrimmage watch[/bold]
      [bold]scrimmage watch run_x1Y2z3[/bold]
    """
    from producer.archive import Archive
    from producer.local import any_pool
    from producer.stillness import Stillness
    from producer.watch import Progress, snapshot

    settings = Settings.load()
    archive = Archive(settings.archive)
    with any_pool(settings, _quietly) as local:
        ledger = local.pool.ledger
        refs = _refs(local.pool, archive, run or ())
        if not refs:
            say("no run is in flight")
            return
        if local.own:
            say(f"no pool is up here: {', '.join(map(str, refs))} will move when `scrimmage resume` plays on")
            return
        stillness = Stillness(local.pool)
        with Progress(progress, None) as view:
            while True:
                states = [ledger.run(ref) for ref in refs]
                seen = snapshot(local.pool, states, total=len(refs))
                view.show(seen, stillness.look(seen.runs))
                if all(state is None or state.status.final for state in states):
                    break
                time.sleep(_TICK_SECONDS)
        say("all watched runs are over")


def _refs(pool: Pool, archive: Archive, names: Sequence[str]) -> list[RunRef]:
    if names:
        return [_held(pool, archive, name) for name in names]
    return [state.ref for state in pool.ledger.runs() if not state.status.final]


def _quietly(_: str) -> None:
    """For commands that only look: how they get at the pool is of no interest."""


def status(json: Json = False) -> None:
    """Show every run that the pool holds, what its platform says of it, and what would be done.

    Example: [bold]scrimmage status[/bold]
    """
    from producer.local import any_pool
    from producer.recovery import situation

    with any_pool(Settings.load(), _quietly) as local, progress.status("asking the platforms"):
        rows = situation(local.settings, local.pool)
    if json:
        print_json({"runs": [row.model_dump(mode="json") for row in rows]})
        return
    if not rows:
        say("no run is held; finished ones are in the archive (`scrimmage show RUN`)")
        return
    table(
        ("run", "here", "there", "tasks", "time left", "what would be done"),
        ((row.name, row.here, row.there, row.tasks, seconds(row.seconds_left), row.plan) for row in rows),
    )


def resume(json: Json = False) -> None:
    """Go on with everything that was begun: settle openings, play what is not over, archive what is.

    Example: [bold]scrimmage resume[/bold]
    """
    from producer.archive import Archive
    from producer.cli.scorecard import account, show, tell
    from producer.local import any_pool
    from producer.recovery import resume_all

    settings = Settings.load()
    with account(json) as played:
        with any_pool(settings, say) as local:
            resume_all(local, progress, say, played)
            if not played.total:
                say("nothing was in flight")
            elif not json:
                show(played, Archive(settings.archive))
        if json:
            tell(played)


def finish(run: RunName, json: Json = False) -> None:
    """End a run now: submit what is solved, and close it on the platform. Safe to repeat.

    Example: [bold]scrimmage finish run_x1Y2z3[/bold]
    """
    from producer.archive import Archive
    from producer.cli.scorecard import account, show, tell
    from producer.local import any_pool
    from producer.recovery import finish_now

    settings = Settings.load()
    archive = Archive(settings.archive)
    with account(json) as played:
        with any_pool(settings, say) as local:
            ref = _held(local.pool, archive, run)
            local.staff()
            finish_now(local, ref, progress, played)
            if not json:
                show(played, archive)
        if json:
            tell(played)


def _held(pool: Pool, archive: Archive, name: str) -> RunRef:
    """The run of this name in the ledger. Raises UsageError: it is over already, or unknown."""
    try:
        return pool.ledger.find(name)
    except UsageError as unknown:
        try:
            over = archive.find(name)
        except UsageError:
            raise unknown from None
        raise UsageError(f"{over} is over already: `scrimmage show {over.run_id}`") from None


def refresh(run: RunName, json: Json = False) -> None:
    """Fetch scores that arrive later into the archive (a final run's, once they are published).

    Example: [bold]scrimmage refresh run_x1Y2z3[/bold]
    """
    from producer.archive import Archive
    from producer.cli.scorecard import print_runs
    from producer.local import any_pool
    from producer.recovery import refreshed
    from shared.platforms import registry

    settings = Settings.load()
    archive = Archive(settings.archive)
    ref = archive.find(run)
    with any_pool(settings, _quietly) as local:
        platform = registry.create(ref.platform, local.settings, local.pool)
        with progress.status(f"asking {ref.platform}"):
            row = refreshed(archive, platform, ref, Deadline.after(_REFRESH_SECONDS))
    if json:
        print_json({"runs": [row.model_dump(mode="json")]})
    else:
        print_runs([row], archive)
