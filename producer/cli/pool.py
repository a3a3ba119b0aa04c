"""`scrimmage worker` and `scrimmage up`: what stays running."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from enum import StrEnum
from typing import Annotated

import typer

from producer.cli.options import Flower
from producer.cli.output import say
from producer.interrupt import Interrupted
from shared.errors import SettingsError, Unavailable, UsageError
from shared.settings import Settings, without_secrets


class Role(StrEnum):
    """What a worker does. ``final`` keeps slots free for the final run alone."""

    SOLVE = "solve"
    FINISH = "finish"
    BOTH = "both"
    FINAL = "final"


def worker(
    role: Annotated[Role, typer.Option(help="What this worker does.")] = Role.BOTH,
    processes: Annotated[
        int | None, typer.Option(min=1, show_default="SCRIMMAGE_PROCESSES or 2", help="Processes that solve.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, show_default="SCRIMMAGE_THREADS or 32", help="Solves at a time in each of them."),
    ] = None,
) -> None:
    """Work on runs until stopped. Needs SCRIMMAGE_REDIS_URL; run it on as many machines as you like.

    Celery's processes are supervised and started again when they exit.
    Ctrl-C or SIGTERM finishes running tasks; a second one stops at once, and another worker takes over.

    Examples:
      [bold]scrimmage worker[/bold]
      [bold]scrimmage worker --role solve --processes 4 --threads 16[/bold]
    """
    settings = Settings.load()
    if settings.redis_url is None:
        raise SettingsError(
            "SCRIMMAGE_REDIS_URL is not set: a worker needs the pool's Redis "
            "(for a pool on this machine: `scrimmage up`)"
        )
    from producer.servers import check_redis

    with suppress(Unavailable):  # it is waited for: machines start in any order
        check_redis(settings.redis_url)
    command = [sys.executable, "-m", "workers.supervise", "--role", role.value]
    if processes is not None:
        os.environ["SCRIMMAGE_PROCESSES"] = str(processes)
    if threads is not None:
        os.environ["SCRIMMAGE_THREADS"] = str(threads)
    os.execv(sys.executable, command)  # noqa: S606 - signals go to the supervisor itself


def up(flower: Flower = False) -> None:
    """Bring up a whole pool on this machine and keep it up until Ctrl-C.

    Other commands in this folder then use it.

    Example: [bold]scrimmage up --flower[/bold]
    """
    from producer.local import local_pool, running_pool

    settings = Settings.load()
    if settings.redis_url is None and (running := running_pool(settings)) is not None:
        raise UsageError(
            f"a pool is up in this folder already, at {running.redis_url}: other commands use it by "
            "themselves. SCRIMMAGE_DATA names another folder for a second one"
        )
    with local_pool(settings, say, flower=flower) as local:
        say(f"ready    export SCRIMMAGE_REDIS_URL={without_secrets(local.settings.redis_url or '')}")
        say("         Ctrl-C stops it; nothing is lost")
        with suppress(Interrupted):
            signal.pause()
        say("stopping: the workers end what they are at (Ctrl-C again does not wait for them)")
