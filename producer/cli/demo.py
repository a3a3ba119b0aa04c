"""`scrimmage demo`: one dev run of 30 tasks on this machine, from nothing to a scorecard."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from producer.cli.options import CapRun, CapTask, Flower, Json, SolverName
from producer.cli.output import say, seconds
from producer.interrupt import Interrupted
from shared.models import RunRequest
from shared.settings import Settings

_BUDGET_SECONDS = 300.0


def demo(
    solver: SolverName = "baseline",
    seed: Annotated[
        int | None, typer.Option(help="Seed of the scenario; the same seed gives the same tasks.")
    ] = None,
    cap_task: CapTask = None,
    cap_run: CapRun = None,
    flower: Flower = False,
    json: Json = False,
) -> None:
    """Play one dev run against the arena emulator, with everything it needs started here.

    Solvers that ask a model get a stand-in, which serves right plans: no language model is behind it.

    Examples:
      [bold]scrimmage demo[/bold]
      [bold]scrimmage demo --solver agent --seed 3[/bold]
    """
    say("scrimmage demo: one dev run of 30 tasks, everything on this machine")
    began = time.monotonic()
    from emulators.serve import ArenaEmulator, ModelEmulator
    from producer.archive import Archive
    from producer.cli.play import play_on
    from producer.cli.scorecard import show, tell
    from producer.health import require_names
    from producer.local import local_pool
    from producer.sweeps import Sweep

    settings = Settings.load()
    request = RunRequest(
        seed=seed, solver=solver, budget_seconds=_BUDGET_SECONDS, task_usd=cap_task, run_usd=cap_run
    )
    archive = Archive(settings.archive)
    archive.check()
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
                "data": stack.enter_context(_folder(settings.data)),
            }
        )
        require_names(here, [request])
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
        local = stack.enter_context(local_pool(here, say, workers=False, flower=flower))
        played = Sweep()
        play_on(local, [request], 1, archive, played)
        say(f"in all   {seconds(time.monotonic() - began)}")
        if not json:
            show(played, archive)
    if json:
        tell(played)


@contextmanager
def _folder(data: Path) -> Iterator[Path]:
    """A data folder for this demo alone. Where the demo fails it stays, for its logs."""
    data.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="demo-", dir=data))
    try:
        yield folder
    except Interrupted:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
