"""`scrimmage run` and `scrimmage sweep`: start runs and follow them to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.options import (
    Budget,
    CapRun,
    CapSweep,
    CapTask,
    Json,
    ModelCache,
    PlatformName,
    PlatformOptions,
    SolverName,
    TaskSeconds,
    platform_options,
)
from producer.cli.output import progress, say, warn
from shared.errors import UsageError
from shared.models import RunRequest
from shared.settings import Settings

if TYPE_CHECKING:
    from producer.archive import Archive
    from producer.local import LocalPool
    from producer.sweeps import Sweep

_LARGEST_SEED = 2**53 - 1
"""JSON numbers are exact up to here."""


def run(
    solver: SolverName = "baseline",
    seed: Annotated[int | None, typer.Option(help="Replay the scenario of this seed.")] = None,
    platform: PlatformName = "arena",
    budget: Budget = 1800,
    task_seconds: TaskSeconds = 300,
    option: PlatformOptions = None,
    cap_task: CapTask = None,
    cap_run: CapRun = None,
    model_cache: ModelCache = False,
    json: Json = False,
) -> None:
    """Play one dev run and print its scorecard.

    Uses the pool of SCRIMMAGE_REDIS_URL, or the one that is up in this folder, or its own.

    Examples:
      [bold]scrimmage run --solver baseline[/bold]
      [bold]scrimmage run --seed 123456 --json[/bold]
    """
    template = _template(platform, budget, task_seconds, option, cap_task, cap_run, model_cache)
    _play(
        [template.model_copy(update={"solver": solver, "seed": None if seed is None else _checked(seed)})],
        in_flight=1,
        json=json,
    )


def sweep(
    runs: Annotated[int, typer.Option(min=1, help="How many runs with each solver.")] = 1,
    seeds: Annotated[
        str | None, typer.Option(metavar="N,N,…", help="Seeds to play, instead of --runs.")
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", show_default="baseline", help="Name of a solver; repeatable."),
    ] = None,
    in_flight: Annotated[int, typer.Option("--in-flight", min=1, help="Runs at a time.")] = 4,
    platform: PlatformName = "arena",
    budget: Budget = 1800,
    task_seconds: TaskSeconds = 300,
    option: PlatformOptions = None,
    cap_task: CapTask = None,
    cap_run: CapRun = None,
    cap_sweep: CapSweep = None,
    model_cache: ModelCache = False,
    json: Json = False,
) -> None:
    """Play many dev runs under the shared request limit.

    A platform measures cost by key: its own cost of a run is exact only with --in-flight 1.
    The pool counts the cost of each run itself.

    Examples:
      [bold]scrimmage sweep --runs 10 --in-flight 4[/bold]
      [bold]scrimmage sweep --seeds 1,2,3 --solver mine --solver baseline --json[/bold]
    """
    from producer.sweeps import requests_of

    template = _template(platform, budget, task_seconds, option, cap_task, cap_run, model_cache)
    template = template.model_copy(update={"sweep_usd": cap_sweep})
    requests = requests_of(template, runs=runs, seeds=_seeds(seeds), solvers=solver or ["baseline"])
    _play(requests, in_flight=in_flight, json=json)


def _template(
    platform: str,
    budget: float,
    task_seconds: float,
    option: list[str] | None,
    cap_task: float | None,
    cap_run: float | None,
    model_cache: bool,
) -> RunRequest:
    return RunRequest(
        platform=platform,
        budget_seconds=budget,
        task_seconds=task_seconds,
        options=platform_options(option),
        task_usd=cap_task,
        run_usd=cap_run,
        model_cache=model_cache,
    )


def _seeds(text: str | None) -> list[int]:
    try:
        return [_checked(int(part)) for part in text.split(",")] if text else []
    except ValueError:
        raise UsageError(f"--seeds {text!r}: expected whole numbers with commas between") from None


def _checked(seed: int) -> int:
    if abs(seed) > _LARGEST_SEED:
        raise UsageError(f"seed {seed}: at most {_LARGEST_SEED} (larger numbers are not exact in JSON)")
    return seed


def _play(requests: list[RunRequest], *, in_flight: int, json: bool) -> None:
    """Play requests of one platform on whatever pool there is, and print what came of them."""
    from producer.archive import Archive
    from producer.cli.scorecard import account, show, tell
    from producer.health import require_names
    from producer.local import any_pool

    settings = Settings.load()
    archive = Archive(settings.archive)
    archive.check()
    require_names(settings, requests)
    with account(json) as played:
        with any_pool(settings, say) as local:
            if local.own:
                say(f"model    {settings.model or 'none: SCRIMMAGE_MODEL is not set, solvers play without'}")
            play_on(local, requests, in_flight, archive, played)
            if not json:
                show(played, archive)
        if json:
            tell(played)


def play_on(
    local: LocalPool, requests: list[RunRequest], in_flight: int, archive: Archive, played: Sweep
) -> None:
    """Play requests with live progress, once all is seen to that can be seen to before workers start.

    Args:
        played: gets what is played, and has it however this ends.
    """
    from producer.sweeps import close_due
    from producer.watch import play_watched
    from shared.platforms import registry
    from shared.platforms.reach import Reachable

    platform = registry.create(requests[0].platform, local.settings, local.pool)
    platform.account()
    if isinstance(platform, Reachable):
        platform.reach(warn)
    local.staff()
    if kept := close_due(local.pool, archive):
        say(f"archived runs that had ended meanwhile: {len(kept)}")
    play_watched(
        local.pool,
        platform,
        requests,
        in_flight=in_flight,
        archive=archive,
        console=progress,
        sweep=played,
    )
