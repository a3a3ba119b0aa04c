"""`scrimmage emulate …`: the platforms as local servers, in the foreground until Ctrl-C."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from producer.cli.output import print_json, results, say
from producer.interrupt import Interrupted

emulate = typer.Typer(help="The platforms as local servers.", no_args_is_help=True)


@emulate.callback()
def _emulators() -> None:
    """The platforms as local servers: offline, free, graded."""


@emulate.command()
def arena(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: a free one.")] = 8700,
    password: Annotated[
        str | None,
        typer.Option(
            envvar="SCRIMMAGE_EMULATOR_PASSWORD",
            help="Guards /_emulator; needed to listen beyond this machine. Better given by the variable.",
        ),
    ] = None,
    teams: Annotated[int, typer.Option(help="Number of teams, each with its own key and limit.")] = 1,
    key: Annotated[
        list[str] | None,
        typer.Option(envvar="SCRIMMAGE_EMULATOR_KEYS", help="Key of the next team (arena_…); repeatable."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Makes the seeds of runs that name none repeatable.")
    ] = None,
    window: Annotated[
        str, typer.Option(help="The final window: open, closed, none, or FROM..TO in seconds from now.")
    ] = "open",
    deadline: Annotated[float, typer.Option(help="Seconds of a final run.")] = 1800.0,
    faults: Annotated[Path | None, typer.Option(help="File of faults (docs/emulators.md).")] = None,
    books: Annotated[bool, typer.Option("--books", help="Print what clients did, at the end.")] = False,
    no_limit: Annotated[
        bool, typer.Option("--no-limit", help="Count requests over the limit, but refuse none.")
    ] = False,
    choice: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE: another reading where the text is silent (docs/emulators.md)."),
    ] = None,
) -> None:
    """Harness Arena on this machine.

    Example: [bold]scrimmage emulate arena --teams 2 --faults faults.toml --books[/bold]
    """
    from emulators.arena.app import open_arena
    from emulators.arena.choices import Choices
    from emulators.arena.options import ArenaOptions
    from emulators.server import server

    options = ArenaOptions.of(
        {
            "host": host,
            "port": port,
            "password": password or None,
            "teams": teams,
            "keys": tuple(key or ()),
            "seed": seed,
            "window": window,
            "deadline": deadline,
            "faults": faults,
            "limit": not no_limit,
            "choices": Choices.parse(choice or ()),
        }
    )
    app, listening, hello = open_arena(options)
    with contextlib.suppress(Interrupted):
        say(f"arena emulator: {hello['origin']} (/_emulator/books, /openapi.json); Ctrl-C ends it")
        results.print(f"export SCRIMMAGE_ARENA_URL={hello['url']}", soft_wrap=True, markup=False)
        for number, team_key in enumerate(hello["keys"], start=1):
            line = f"export SCRIMMAGE_ARENA_KEY={team_key}"
            results.print(line if number == 1 else f"# team {number}: {line}", soft_wrap=True, markup=False)
        server(app).run(sockets=[listening])
    if books:
        print_json(app.arena.report())
