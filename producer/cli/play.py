"""`scrimmage run` and `scrimmage sweep`: start runs and follow them to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.output import clean, dollars, print_json, progress, say, score, seconds, table, warn
from shared.errors import ScrimmageError, UsageError
from shared.models import RunRequest
from shared.settings import Settings

if TYPE_CHECKING:
    from producer.summary import Summary
    from producer.sweeps import Sweep
    from shared.platforms.base import Platform
    from shared.pool.pool import Pool

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
PlatformName = Annotated[str, typer.Option("--platform", help="Where to play.")]
Budget = Annotated[
    float, typer.Option("--budget", min=1, help="Seconds until a run without a deadline is finished anyway.")
]
TaskSeconds = Annotated[float, typer.Option("--task-seconds", min=1, help="Seconds that one task may take.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="A platform's own option, name=value; repeatable.")
]
CapTask = Annotated[
    float | None, typer.Option("--cap-task", min=0, help="US dollars that one task's model calls may cost.")
]
CapRun = Annotated[
    float | None, typer.Option("--cap-run", min=0, help="US dollars that a run's model calls may cost.")
]
CapSweep = Annotated[
    float | None, typer.Option("--cap-sweep", min=0, help="US dollars for all runs of the sweep together.")
]
ModelCache = Annotated[
    bool, typer.Option("--model-cache", help="Replay identical model calls at no cost, while you try things.")
]


def run(
    solver: Annotated[str, typer.Option(help="Name of the solver.")] = "baseline",
    seed: Annotated[int | None, typer.Option(help="Replay the scenario of this seed.")] = None,
    platform: PlatformName = "arena",
    budget: Budget = 1800,
    task_seconds: TaskSeconds = 300,
    option: Options = None,
    cap_task: CapTask = None,
    cap_run: CapRun = None,
    model_cache: ModelCache = False,
    json: Json = False,
) -> None:
    """Play one dev run and print its scorecard.

    Uses the pool of SCRIMMAGE_REDIS_URL, or the one that `scrimmage up` runs in this folder, or its own.

    Examples:
      [bold]scrimmage run --solver baseline[/bold]
      [bold]scrimmage run --seed 123456 --json[/bold]
    """
    template = RunRequest(
        platform=platform,
        seed=seed,
        solver=solver,
        budget_seconds=budget,
        task_seconds=task_seconds,
        options=options_of(option),
        task_usd=cap_task,
        run_usd=cap_run,
        model_cache=model_cache,
    )
    play_and_print([template], in_flight=1, json=json)


def sweep(
    runs: Annotated[int, typer.Option(min=1, help="How many runs with each solver.")] = 1,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds to play, comma-separated, instead of --runs.")
    ] = None,
    solver: Annotated[list[str] | None, typer.Option(help="Name of a solver; repeatable.")] = None,
    in_flight: Annotated[int, typer.Option("--in-flight", min=1, help="Runs at a time.")] = 4,
    platform: PlatformName = "arena",
    budget: Budget = 1800,
    task_seconds: TaskSeconds = 300,
    option: Options = None,
    cap_task: CapTask = None,
    cap_run: CapRun = None,
    cap_sweep: CapSweep = None,
    model_cache: ModelCache = False,
    json: Json = False,
) -> None:
    """Play many dev runs under the shared request limit.

    A platform measures cost per key, so its own cost per run is exact only with --in-flight 1; the pool
    counts the cost of each run itself.

    Examples:
      [bold]scrimmage sweep --runs 10 --in-flight 4[/bold]
      [bold]scrimmage sweep --seeds 1,2,3 --solver mine --solver baseline --json[/bold]
    """
    from producer.sweeps import requests_of

    template = RunRequest(
        platform=platform,
        budget_seconds=budget,
        task_seconds=task_seconds,
        options=options_of(option),
        task_usd=cap_task,
        run_usd=cap_run,
        sweep_usd=cap_sweep,
        model_cache=model_cache,
    )
    requests = requests_of(template, runs=runs, seeds=_seeds(seeds), solvers=solver or ["baseline"])
    play_and_print(requests, in_flight=in_flight, json=json)


def options_of(pairs: list[str] | None) -> dict[str, str]:
    """``name=value`` pairs as a platform's options. Raises UsageError for anything else."""
    found = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--option {pair!r}: expected name=value")
        found[name] = value
    return found


def _seeds(text: str | None) -> list[int]:
    try:
        return [int(part) for part in text.split(",")] if text else []
    except ValueError:
        raise UsageError(f"--seeds {text!r}: expected whole numbers with commas between") from None


def play_and_print(requests: list[RunRequest], *, in_flight: int, json: bool) -> None:
    """Play requests of one platform on whatever pool there is, print the rows, exit 1 if incomplete."""
    from producer.local import any_pool

    settings = Settings.load()
    with any_pool(settings, say) as local:
        played = follow(local.settings, local.pool, requests, in_flight)
    show(played, json)


def follow(settings: Settings, pool: Pool, requests: list[RunRequest], in_flight: int) -> Sweep:
    """Play requests with live progress; where it breaks off say what is in flight, and how to go on."""
    from producer.archive import Archive
    from producer.interrupt import Interrupted
    from producer.sweeps import close_due, play
    from producer.watch import Progress, snapshot
    from shared.platforms import registry

    platform: Platform = registry.create(requests[0].platform, settings, pool)
    archive = Archive(settings.archive)
    archive.check()
    kept = close_due(pool, archive)
    if kept:
        say(f"archived {len(kept)} runs that had ended meanwhile")
    state: list[Sweep] = []
    try:
        with Progress(progress, platform.limits) as view:

            def draw(sweep: Sweep) -> None:
                state[:] = [sweep]
                view.show(snapshot(pool, sweep.flying.values(), over=len(sweep.done), total=sweep.total))

            return play(pool, platform, requests, in_flight=in_flight, archive=archive, view=draw)
    except (Interrupted, ScrimmageError):
        if state and state[0].flying:
            flying = ", ".join(map(str, state[0].flying))
            warn(f"nothing is lost; in flight: {flying}. `scrimmage resume` goes on with them")
        raise


def show(played: Sweep, json: bool) -> None:
    """Print the rows of a finished sweep, and exit with what they amount to."""
    from producer.sweeps import incomplete

    if played.refused and not played.done:
        raise played.refused[0]
    if json:
        rows = [row.model_dump(mode="json") for row in played.done]
        print_json({"runs": rows, "refused": [str(refusal) for refusal in played.refused]})
    else:
        print_rows(played.done)
    for refusal in played.refused:
        warn(f"refused: {clean(refusal)}")
    if incomplete(played):
        raise typer.Exit(1)


def print_rows(rows: list[Summary]) -> None:
    """Runs as a table, then the failures of each, task by task."""
    columns = (
        "run",
        "seed",
        "solver",
        "status",
        "submitted",
        "accuracy",
        "cost",
        "score",
        "requests",
        "time",
    )
    table(
        columns,
        (
            (
                row.run_id,
                row.seed,
                row.solver,
                row.status,
                f"{row.tasks_submitted}/{row.tasks_total}",
                score(row.accuracy),
                dollars(row.cost_usd),
                score(row.final_score),
                row.requests,
                seconds(row.wall_seconds),
            )
            for row in rows
        ),
    )
    for row in rows:
        for failure in row.failures:
            warn(f"{row.ref} {failure.task_id}: {failure.status}, {failure.reason or 'not tried'}")
