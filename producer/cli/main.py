"""The command `scrimmage`: its sub-commands, and how each of them ends."""

from __future__ import annotations

import errno
import sys

import typer

from producer.cli import demo, doctor, emulate, final, inspect, new_solver, play, pool, runs, show
from producer.cli.ending import INCOMPLETE, fail, fail_with, tell_scripts
from producer.cli.output import prepare_streams, silence
from producer.interrupt import Interrupted
from shared.errors import ScrimmageError

_CANNOT_WRITE = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EPIPE}
"""Of streams that a command was given: of the files that it writes itself it has spoken before."""

app = typer.Typer(
    name="scrimmage",
    help="Plays agent benchmarks with a distributed worker pool under one shared request limit.",
    epilog="Begin with `scrimmage demo`. Exit codes: 0 done, 1 a run ended incomplete or something did not "
    "answer, 2 usage or settings, 3 the platform refused, 130 interrupted.",
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


def run() -> None:
    """Run the command line and exit with its code. ``entry`` has set the signals."""
    prepare_streams()
    try:
        sys.exit(app(prog_name="scrimmage", standalone_mode=False))
    except (Interrupted, ScrimmageError) as error:
        fail(error)
    except typer.Abort:
        fail(Interrupted())
    except typer.TyperException as error:
        _misused(error)
    except OSError as error:
        if error.filename is not None or error.errno not in _CANNOT_WRITE:
            raise
        silence()
        fail_with(f"the output cannot be written: {error.strerror}", "OSError", INCOMPLETE)
    except Exception as error:  # a fault of ours: the traceback is for people, a script gets its object too
        tell_scripts(f"{type(error).__name__}: {error}", "Fault", INCOMPLETE)
        raise


def _misused(error: typer.TyperException) -> None:
    """The command line cannot be read: what is wrong with it, and where the help is."""
    context: typer.Context | None = getattr(error, "ctx", None)
    words = error.format_message()
    if not words:  # no arguments were given: the help is shown already
        sys.exit(error.exit_code)
    hint = "" if context is None else f" (see `{context.command_path} --help`)"
    fail_with(f"{words}{hint}", "UsageError", error.exit_code)
