"""`scrimmage new-solver NAME`: a skeleton to start from, with a test that passes."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Annotated

import typer

from producer.cli.output import print_text, say
from shared.errors import UsageError

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")

_SOLVER = '''"""The solver `{name}`."""

from workers.api import Solution, Task, TaskContext


class {title}:
    """Answers with the first block that holds what the instruction puts in quotation marks."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        for words in task.instruction.split('"')[1::2]:
            for hit in context.workspace.search(words):
                return Solution(answer=hit.text, sources=(hit.source,))
        return Solution(outcome="NEEDS_CLARIFICATION")
'''

_TEST = '''"""The solver `{name}`, over files at hand: no pool is needed."""

from {name} import {title}

from workers.api import Source
from workers.testing import local_context, task


def test_it_answers_with_the_line_and_cites_it():
    context = local_context({{"/notes.md": b"# Notes\\nThe printer is on floor two.\\n"}})
    solution = {title}().solve(task('Where is "the printer"?'), context)
    assert solution.answer == "The printer is on floor two."
    assert solution.sources == (Source(path="/notes.md", line=2),)


def test_it_says_so_where_it_does_not_know():
    solution = {title}().solve(task('Where is "the kettle"?'), local_context({{"/notes.md": b"Nothing.\\n"}}))
    assert solution.outcome == "NEEDS_CLARIFICATION"
'''


def new_solver(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the solver and its module: lower case, a-z 0-9 _.")
    ],
    folder: Annotated[Path, typer.Option(help="Where the files go.")] = Path(),
) -> None:
    """Write a solver to start from, and its test.

    Example: [bold]scrimmage new-solver mine[/bold]
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(f"{name[:80]!r} is no name of a module: use lower case letters, digits and _")
    title = "".join(part.capitalize() for part in name.split("_"))
    files = {folder / f"{name}.py": _SOLVER, folder / f"test_{name}.py": _TEST}
    for path in files:
        if path.exists():
            raise UsageError(f"{path} exists: choose another name or --folder")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        path.write_text(text.format(name=name, title=title), encoding="utf-8")
        print_text(path)
    say(f"play a run with it: SCRIMMAGE_SOLVERS={name}={name}:{title} scrimmage run --solver {name}")
