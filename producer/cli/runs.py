"""Looking at runs and taking them up again: `watch`, `status`, `resume`, `finish`, `refresh`."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from producer.cli.output import print_json, progress, say, seconds, table
from shared.deadline import Deadline
from shared.settings import Settings

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
RunName = Annotated[str, typer.Argument(help="run_x or arena:run_x")]

_TICK_SECONDS = 0.2


def watch(
    run: Annotated[
        list[str] | None, typer.Argument(help="Runs to watch; all that are not over where none is named.")
    ] = None,
) -> None:
    """Follow runs until they are over. Watching changes nothing; Ctrl-C stops the watching alone.

    Examples:
      [bold]scrimmage watch[/bold]
      [bold]scrimmage watch run_x1Y2z3[/bold]
    """
    from producer.local import connected
    from producer.watch import Progress, snapshot

    with connected(Settings.load()) as local:
        ledger = local.pool.ledger
        refs = (
            [ledger.find(name) for name in run]
            if run
            else [state.ref for state in ledger.runs() if not state.status.final]
        )
        if not refs:
            say("no run is in flight")
            return
        with Progress(progress, None) as view:
            while True:
                states = [ledger.run(ref) for ref in refs]
                left = [state for state in states if state is not None and not state.status.final]
                view.show(snapshot(local.pool, states, over=len(refs) - len(left), total=len(refs)))
                if not left:
                    break
                time.sleep(_TICK_SECONDS)
        say("all watched runs are over")


def status(json: Json = False) -> None:
    """Show every run that the pool holds, what its platform says of it, and what would be done.

    Example: [bold]scrimmage status[/bold]
    """
    from producer.local import connected
    from producer.recovery import situation

    with connected(Settings.load()) as local:
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
    from producer.cli.play import show
    from producer.local import any_pool
    from producer.recovery import resume_all

    settings = Settings.load()
    with any_pool(settings, say) as local:
        played = resume_all(local.settings, local.pool, progress, say)
    if not played.total:
        say("nothing was in flight")
    if played.total or json:
        show(played, json)


def finish(run: RunName, json: Json = False) -> None:
    """End a run now: submit what is solved, and close it on the platform. Safe to repeat.

    Example: [bold]scrimmage finish run_x1Y2z3[/bold]
    """
    from producer.cli.play import show
    from producer.local import any_pool
    from producer.recovery import finish_now

    settings = Settings.load()
    with any_pool(settings, say) as local:
        played = finish_now(local.settings, local.pool, local.pool.ledger.find(run), progress)
    show(played, json)


def refresh(run: RunName, json: Json = False) -> None:
    """Fetch scores that arrive later (a final run's, after the organisers publish them) into the archive.

    Example: [bold]scrimmage refresh run_x1Y2z3[/bold]
    """
    from producer.archive import Archive
    from producer.cli.play import print_rows
    from producer.local import any_pool
    from producer.recovery import refreshed
    from shared.platforms import registry

    settings = Settings.load()
    archive = Archive(settings.archive)
    ref = archive.find(run)
    with any_pool(settings, say, workers=False) as local:
        platform = registry.create(ref.platform, local.settings, local.pool)
        row = refreshed(archive, platform, ref, Deadline.after(60))
    if json:
        print_json({"runs": [row.model_dump(mode="json")]})
    else:
        print_rows([row])
