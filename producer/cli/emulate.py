"""`scrimmage emulate …`: platforms and a stand-in model as local servers, in the foreground until Ctrl-C."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from producer.cli.output import print_json, print_text, say
from producer.interrupt import Interrupted

if TYPE_CHECKING:
    from emulators.serve import ArenaEmulator

emulate = typer.Typer(no_args_is_help=True)


def arena_of_our_own(**options: Any) -> ArenaEmulator:
    """An arena emulator for a command that plays against one of its own; ends with the command."""
    from emulators.serve import ArenaEmulator

    return ArenaEmulator.start(**options)


@emulate.callback()
def _emulators() -> None:
    """The platforms as local servers: offline, free, graded.

    Examples:
      [bold]scrimmage emulate arena[/bold]
      [bold]scrimmage emulate model --arena-url http://127.0.0.1:8700[/bold]
    """


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
        print_text(f"export SCRIMMAGE_ARENA_URL={hello['url']}")
        for number, team_key in enumerate(hello["keys"], start=1):
            line = f"export SCRIMMAGE_ARENA_KEY={team_key}"
            print_text(line if number == 1 else f"# team {number}: {line}")
        server(app).run(sockets=[listening])
    if books:
        print_json(app.arena.report())


@emulate.command()
def model(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: a free one.")] = 8710,
    password: Annotated[
        str | None,
        typer.Option(
            envvar="SCRIMMAGE_EMULATOR_PASSWORD",
            help="Guards /_emulator, the arena's too; needed to listen beyond this machine.",
        ),
    ] = None,
    teams: Annotated[int, typer.Option(help="Number of teams, each with a dev and an eval key.")] = 1,
    seed: Annotated[int, typer.Option(help="Decides which answers go wrong.")] = 0,
    arena_url: Annotated[
        str | None, typer.Option(help="Arena emulator whose tasks it knows, and which it tells the cost.")
    ] = None,
    scenario: Annotated[
        list[str] | None, typer.Option(help="THEME:SEED:VARIATION that it knows from the start; repeatable.")
    ] = None,
    slow: Annotated[float, typer.Option(help="Seconds that every answer takes.")] = 0.0,
    wrong: Annotated[float, typer.Option(help="Part of the tasks whose first plan is wrong.")] = 0.0,
    malformed: Annotated[float, typer.Option(help="Part of the answers whose JSON breaks off.")] = 0.0,
    refusing: Annotated[float, typer.Option(help="Part of the requests that are refused.")] = 0.0,
    limited: Annotated[float, typer.Option(help="Part answered by a 429 inside HTTP 200.")] = 0.0,
    most_open: Annotated[int | None, typer.Option(help="More requests at a time get 429.")] = None,
    down: Annotated[float, typer.Option(help="Seconds from the start in which it is down.")] = 0.0,
    obedient: Annotated[bool, typer.Option("--obedient", help="Obey whatever the data asks for.")] = False,
    faults: Annotated[Path | None, typer.Option(help="File of faults (docs/emulators.md).")] = None,
    books: Annotated[bool, typer.Option("--books", help="Print what was used, at the end.")] = False,
) -> None:
    """A stand-in for a chat model: OpenRouter's API, no language model behind it.

    It recognises the tasks of the arena emulator and serves their reference plans: good for proving a
    harness, useless for judging its wits. What it is told here can be changed at POST /_emulator/conduct.

    Example: [bold]scrimmage emulate model --arena-url http://127.0.0.1:8700 --wrong 0.2[/bold]
    """
    from emulators.model.app import open_model
    from emulators.model.options import ModelOptions
    from emulators.server import server

    options = ModelOptions.of(
        {
            "host": host,
            "port": port,
            "password": password or None,
            "arena_password": password or None,
            "teams": teams,
            "seed": seed,
            "arena_url": arena_url,
            "scenarios": tuple(scenario or ()),
            "faults": faults,
            "conduct": {
                "slow": slow,
                "wrong": wrong,
                "malformed": malformed,
                "refusing": refusing,
                "limited": limited,
                "most_open": most_open,
                "down": down,
                "obedient": obedient,
            },
        }
    )
    app, listening, hello = open_model(options)
    with contextlib.suppress(Interrupted):
        say(f"stand-in model (no language model): {hello['origin']} (/_emulator/books); Ctrl-C ends it")
        say(
            f"US dollars per million tokens: {options.price_in:g} read, {options.price_cached:g} read again, "
            f"{options.price_out:g} written"
        )
        lines = [f"export SCRIMMAGE_MODEL_URL={hello['url']}", f"export SCRIMMAGE_MODEL={hello['model']}"]
        for name, key in hello["keys"].items():
            variable = "SCRIMMAGE_EVAL_MODEL_KEY" if name.endswith("final") else "SCRIMMAGE_MODEL_KEY"
            first = name.startswith("team-1 ")
            lines.append(f"{'' if first else f'# {name}: '}export {variable}={key}")
        for line in lines:
            print_text(line)
        server(app).run(sockets=[listening])
    if books:
        print_json(app.report())
