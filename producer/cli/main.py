"""The command `scrimmage`: its sub-commands, and how errors become exit codes.

Exit codes: 0 done, 1 the run ended incomplete, 2 usage or settings, 3 the platform refused,
130 interrupted (and the message says how to resume).
"""

from __future__ import annotations

import sys

import typer

from producer.cli import demo, doctor, emulate, final, inspect, play, pool, runs, show
from producer.cli.output import clean, print_json, progress
from producer.interrupt import Interrupted, raise_on_signals
from shared.errors import Refused, ScrimmageError, SettingsError, UsageError

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
app.command()(doctor.doctor)
app.add_typer(emulate.emulate, name="emulate")

INCOMPLETE, MISUSED, REFUSED, INTERRUPTED = 1, 2, 3, 130


def exit_code(error: ScrimmageError) -> int:
    """The exit code that tells a script what it can do about an error."""
    if isinstance(error, UsageError | SettingsError):
        return MISUSED
    return REFUSED if isinstance(error, Refused) else INCOMPLETE


def run() -> None:
    """Run the command line and exit with its code."""
    raise_on_signals()
    try:
        app()
    except Interrupted:
        progress.print("interrupted; `scrimmage resume` goes on where this stopped")
        sys.exit(INTERRUPTED)
    except ScrimmageError as error:
        if "--json" in sys.argv:
            print_json({"error": str(error), "kind": type(error).__name__})
        progress.print(f"[red]{clean(error)}[/red]", soft_wrap=True)
        sys.exit(exit_code(error))
