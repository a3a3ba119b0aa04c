"""`scrimmage show RUN [TASK]`: an archived run, and one of its tasks, expected against submitted."""

from __future__ import annotations

import json as jsonlib
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.options import Json, RunName
from producer.cli.output import print_json, print_text, score, table
from shared.errors import UsageError
from shared.models import EffectResult, Reveal, Solution
from shared.settings import Settings

if TYPE_CHECKING:
    from producer.archive import ArchivedRun, ArchivedTask


def show(
    run: RunName,
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="A task of it.")] = None,
    json: Json = False,
) -> None:
    """Show a run from the archive: its tasks, or one task, submitted against expected.

    Examples:
      [bold]scrimmage show run_x1Y2z3[/bold]
      [bold]scrimmage show run_x1Y2z3 t07[/bold]
    """
    from producer.archive import Archive

    archive = Archive(Settings.load().archive)
    found = archive.load(archive.find(run))
    if task is None:
        _print_run(found, json)
        return
    if task not in found.tasks:
        raise UsageError(f"run {found.summary.ref} has no task {task!r}; it has {', '.join(found.tasks)}")
    _print_task(found, found.tasks[task], json)


def _print_run(found: ArchivedRun, json: bool) -> None:
    from producer.cli.scorecard import print_rows

    if json:
        print_json(
            {"run": found.run, "tasks": [task.model_dump(mode="json") for task in found.tasks.values()]}
        )
        return
    print_rows([found.summary])
    print_text()
    table(
        ("task", "level", "status", "outcome", "score", "instruction"),
        (
            (
                name,
                task.level,
                task.status,
                task.solution.outcome if task.solution else None,
                score(task.grade.score if task.grade else None),
                _short(task.instruction),
            )
            for name, task in found.tasks.items()
        ),
    )


def _print_task(found: ArchivedRun, task: ArchivedTask, json: bool) -> None:
    transcript = found.transcript(task.task_id)
    if json:
        print_json({"task": task.model_dump(mode="json"), "transcript": transcript})
        return
    print_text(f"{found.summary.ref} {task.task_id} · {task.status}", "bold")
    print_text(task.instruction, limit=8000)
    if task.reason:
        print_text(task.reason, "yellow")
    solution, reveal = task.solution or Solution(), task.reveal or Reveal(task_id=task.task_id)
    table(
        ("", "submitted", "expected"),
        [
            ("outcome", solution.outcome, reveal.expected_outcome),
            ("answer", _value(solution.answer), _value(reveal.expected_answer)),
        ],
    )
    table(("source", "submitted", "expected"), _sources(solution, reveal))
    for effect in task.effects:
        print_text(f"effect {effect.effect.tool} {_value(effect.effect.args)}: {_fate(effect)}")
    if task.grade:
        print_text("grade: " + (", ".join(task.grade.feedback) or task.grade.model_dump_json()))
    if transcript:
        print_text(f"\ntranscript ({len(transcript)} entries)")
        for entry in transcript:
            print_text(jsonlib.dumps(entry, ensure_ascii=False), limit=1000)


def _sources(solution: Solution, reveal: Reveal) -> list[tuple[object, ...]]:
    """Source by source: which were cited, which were expected."""
    rows: dict[str, list[str]] = {}
    submitted = [source.wire() for source in solution.sources]
    for column, sources in enumerate((submitted, reveal.expected_sources)):
        for source in sources:
            kept = {key: value for key, value in source.items() if value is not None}
            rows.setdefault(jsonlib.dumps(kept, sort_keys=True, ensure_ascii=False), ["", ""])[column] = "x"
    return [(key, *marks) for key, marks in rows.items()]


def _fate(effect: EffectResult) -> str:
    if effect.refused_by:
        return f"held back by the guard: {effect.refused_by}"
    if effect.ok is None:
        return "unknown"
    return "done" if effect.ok else f"refused: {effect.error}"


def _value(value: object) -> str:
    return "-" if value is None else jsonlib.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else line[:69] + "…"
