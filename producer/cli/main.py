"""The command `scrimmage`: its sub-commands, and how errors become exit codes.

Exit codes: 0 done, 1 the run ended incomplete, 2 usage or settings, 3 the platform refused,
130 interrupted (and the message says how to resume).
"""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

from producer.cli import demo, doctor, emulate, final, inspect, new_solver, play, pool, runs, show
from producer.cli.output import clean, logs_to_stderr, print_json, progress
from producer.interrupt import Interrupted
from shared.errors import NotAuthorised, Refused, ScrimmageError, SettingsError, UsageError

app = typer.Typer(
    name="scrimmage",
    help="Plays agent benchmarks with a distributed worker pool under one shared request limit.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command("run")(play.run)
app.command()(play.sweep)
app.command()(final.final)
app.command()(pool.worker)
app.command()(pool.up)
app.command()(runs.watch)
app.command()(runs.status)
app.command()(runs.resume)
app.command()(runs.finish)
app.command()(runs.refresh)
app.command()(show.show)
app.command("inspect")(inspect.inspect)
app.command("new-solver")(new_solver.new_solver)
app.command()(doctor.doctor)
app.add_typer(emulate.emulate, name="emulate")

INCOMPLETE, MISUSED, REFUSED, INTERRUPTED = 1, 2, 3, 130


def exit_code(error: ScrimmageError) -> int:
    """The exit code that tells a script what it can do about an error."""
    if isinstance(error, UsageError | SettingsError):
        return MISUSED
    return REFUSED if isinstance(error, Refused) else INCOMPLETE


def run() -> None:
    """Run the command line and exit with its code. ``entry`` has set the signals."""
    logs_to_stderr()
    try:
        app()
    except Interrupted:
        _fail("interrupted; `scrimmage resume` goes on where this stopped", "Interrupted", INTERRUPTED)
    except NotAuthorised as error:
        advice = "`scrimmage doctor` shows which key is used, and where it comes from"
        _fail(f"{error}; {advice}", type(error).__name__, REFUSED)
    except ScrimmageError as error:
        _fail(str(error), type(error).__name__, exit_code(error))


def _fail(message: str, kind: str, code: int) -> NoReturn:
    """Say on stderr, and as one JSON object where that was asked for, why this ends."""
    if "--json" in sys.argv:
        print_json({"error": message, "kind": kind})
    progress.print(f"[red]{clean(message)}[/red]", soft_wrap=True)
    sys.exit(code)
