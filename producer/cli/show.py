"""`scrimmage show RUN [TASK]`: an archived run, and one of its tasks, expected against submitted."""

from __future__ import annotations

import json as jsonlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from producer.cli.output import clean, print_json, results, score, table
from shared.errors import UsageError
from shared.models import JsonObject
from shared.settings import Settings

if TYPE_CHECKING:
    from producer.archive import ArchivedRun


def show(
    run: Annotated[str, typer.Argument(help="run_x or arena:run_x")],
    task: Annotated[str | None, typer.Argument(help="A task of it.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
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
    from producer.cli.play import print_rows

    if json:
        print_json({"run": found.run, "tasks": list(found.tasks.values())})
        return
    print_rows([found.summary])
    results.print()
    table(
        ("task", "level", "status", "outcome", "score", "instruction"),
        (
            (
                name,
                task.get("level"),
                task.get("status"),
                _part(task, "solution").get("outcome"),
                score(_grade(task).get("score")),
                _short(task.get("instruction")),
            )
            for name, task in found.tasks.items()
        ),
    )


def _print_task(found: ArchivedRun, task: JsonObject, json: bool) -> None:
    name = str(task["task_id"])
    if json:
        print_json({"task": task, "transcript": found.transcript(name)})
        return
    solution, grade, reveal = _part(task, "solution"), _grade(task), _part(task, "reveal")
    results.print(f"[bold]{clean(found.summary.ref)} {clean(name)}[/bold] · {clean(task.get('status'))}")
    results.print(clean(task.get("instruction"), 8000))
    if task.get("reason"):
        results.print(f"[yellow]{clean(task['reason'])}[/yellow]")
    expected = reveal or {}
    table(
        ("", "submitted", "expected"),
        [
            ("outcome", solution.get("outcome"), expected.get("expected_outcome")),
            ("answer", _value(solution.get("answer")), _value(expected.get("expected_answer"))),
        ],
    )
    table(("source", "submitted", "expected"), _sources(solution, expected))
    effects: Any = task.get("effects") or []
    for effect in effects:
        mark = {True: "done", False: f"refused: {effect.get('error') or effect.get('refused_by')}"}.get(
            effect.get("ok"), "unknown"
        )
        call = f"{effect['effect']['tool']} {_value(effect['effect']['args'])}"
        results.print(f"effect {clean(call)}: {clean(mark)}")
    if grade:
        feedback: Any = grade.get("feedback") or []
        results.print("grade: " + clean(", ".join(map(str, feedback)) or _value(grade)))
    transcript = found.transcript(name)
    if transcript:
        results.print(f"\ntranscript ({len(transcript)} entries)")
        for entry in transcript:
            results.print(clean(jsonlib.dumps(entry, ensure_ascii=False), 1000))


def _sources(solution: JsonObject, reveal: JsonObject) -> list[tuple[object, ...]]:
    """Source by source: which were cited, which were expected."""
    submitted: Any = solution.get("sources") or []
    expected: Any = reveal.get("expected_sources") or []
    rows: dict[str, list[str]] = {}
    for column, sources in enumerate((submitted, expected)):
        for source in sources:
            kept = {key: value for key, value in source.items() if value is not None}
            rows.setdefault(jsonlib.dumps(kept, sort_keys=True, ensure_ascii=False), ["", ""])[column] = "x"
    return [(key, *marks) for key, marks in rows.items()]


def _part(task: JsonObject, name: str) -> JsonObject:
    part = task.get(name)
    return part if isinstance(part, dict) else {}


def _grade(task: JsonObject) -> dict[str, Any]:
    return _part(_part(task, "receipt"), "grade") or _part(_part(task, "reveal"), "grade")


def _value(value: object) -> str:
    return "-" if value is None else jsonlib.dumps(value, ensure_ascii=False)


def _short(text: object) -> str:
    line = " ".join(str(text or "").split())
    return line if len(line) <= 70 else line[:69] + "…"
