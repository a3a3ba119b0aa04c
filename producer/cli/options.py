"""Options that several commands share, each said once."""

from __future__ import annotations

from typing import Annotated

import typer

from shared.errors import UsageError

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout, however the command ends.")
]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="run_x or arena:run_x")]
SolverName = Annotated[str, typer.Option("--solver", metavar="NAME", help="Name of the solver.")]
PlatformName = Annotated[str, typer.Option("--platform", metavar="NAME", help="Where to play.")]
Flower = Annotated[bool, typer.Option("--flower", help="Start Flower too, on the loopback interface.")]

Budget = Annotated[
    float, typer.Option("--budget", min=1, help="Seconds until a run without a deadline is finished anyway.")
]
TaskSeconds = Annotated[float, typer.Option("--task-seconds", min=1, help="Seconds that one task may take.")]
PlatformOptions = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="An option of the platform's own; repeatable."),
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


def platform_options(pairs: list[str] | None) -> dict[str, str]:
    """``name=value`` pairs as a platform's options. Raises UsageError for anything else."""
    found = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--option {pair!r}: expected name=value")
        found[name] = value
    return found
