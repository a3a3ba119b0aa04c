"""`scrimmage demo`: one dev run of 30 tasks on this machine, from nothing to a scorecard."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import SecretStr

from producer.cli.output import dollars, results, say, score, seconds, table
from shared.models import RunRequest
from shared.settings import Settings

if TYPE_CHECKING:
    from producer.archive import ArchivedTask


def demo(
    solver: Annotated[str, typer.Option(help="Name of the solver.")] = "baseline",
    seed: Annotated[
        int | None, typer.Option(help="Seed of the scenario; the same seed gives the same tasks.")
    ] = None,
    flower: Annotated[bool, typer.Option("--flower", help="Start Flower too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Play one dev run against the arena emulator, with everything it needs started here.

    Example: [bold]scrimmage demo[/bold]
    """
    say("scrimmage demo: one dev run of 30 tasks, everything on this machine")
    began = time.monotonic()
    from emulators.serve import ArenaEmulator, ModelEmulator
    from producer.archive import Archive
    from producer.cli.play import follow, show
    from producer.local import local_pool

    settings = Settings.load()
    with ExitStack() as stack:
        emulator = stack.enter_context(ArenaEmulator.start())
        say(f"arena    {emulator.url} (emulator, limiter on)")
        here = settings.model_copy(
            update={
                "redis_url": None,
                "broker_url": None,
                "cache_url": None,
                "arena_url": emulator.url,
                "arena_key": SecretStr(emulator.key),
                "data": settings.data / "demo",
            }
        )
        if solver != "baseline":  # which asks no model
            model = stack.enter_context(ModelEmulator.start(arena_url=emulator.url))
            say(f"model    {model.url} (a stand-in, no language model: it serves the scenario's own plans)")
            here = here.model_copy(
                update={
                    "model_url": model.url,
                    "model": model.model,
                    "model_key": SecretStr(model.key),
                    "model_provider": None,
                }
            )
        with local_pool(here, say, flower=flower) as local:
            request = RunRequest(seed=seed, solver=solver, budget_seconds=300)
            played = follow(local.settings, local.pool, [request], in_flight=1)
    if json:
        show(played, json=True)
        return
    for row in played.done:
        archived = Archive(settings.archive).load(row.ref)
        table(("level", "tasks", "score"), _by_level(archived.tasks.values()))
        results.print()
        results.print(
            f"accuracy {score(row.accuracy)}   cost {dollars(row.cost_usd)}   final {score(row.final_score)}"
        )
        results.print(
            f"{row.tasks_submitted}/{row.tasks_total} submitted, {row.requests} requests, "
            f"run {seconds(row.wall_seconds)}, in all {seconds(time.monotonic() - began)}"
        )
        say(f"kept in {archived.folder}; look closer with: scrimmage show {row.run_id} t01")
    show(played, json=False)


def _by_level(tasks: Iterable[ArchivedTask]) -> list[tuple[object, ...]]:
    scores: dict[int | None, list[float]] = defaultdict(list)
    for task in tasks:
        scores[task.level].append((task.grade.score if task.grade else None) or 0.0)
    every = [value for found in scores.values() for value in found]
    levels = sorted(scores.items(), key=lambda item: item[0] or 0)
    return [
        (name, len(found), score(sum(found) / len(found)))
        for name, found in [*levels, ("all", every)]
        if found
    ]
