"""Runs as the API shows them. Which fields appear when is decided here and nowhere else.

Harness Arena Task API v1: "Run summary", "Submitting", "POST /runs/{run_id}/finish".
"""

from __future__ import annotations

from typing import Any

from emulators.arena import wire
from emulators.arena.choices import Choices
from emulators.arena.cost import cost_score
from emulators.arena.options import ArenaOptions
from emulators.arena.runs import Run
from emulators.arena.work import Submission, TaskWork
from emulators.clock import iso
from shared.models import Grade, Kind


class Views:
    """Makes answers out of runs."""

    def __init__(self, options: ArenaOptions) -> None:
        self._choices: Choices = options.choices
        self._floor = options.cost_floor
        self._cap = options.cost_cap

    def started(self, run: Run) -> wire.NewRun:
        """Answer of POST /runs."""
        theme, seed, variation = run.key
        answer: wire.NewRun = {
            "run_id": run.run_id,
            "kind": run.kind.value,
            "theme": theme,
            "seed": seed,
            "variation": variation,
            "deadline_at": _moment(run.deadline_at),
            "tasks": [
                {"task_id": task_id, "instruction": work.task.instruction, "level": work.task.level}
                for task_id, work in run.works.items()
            ],
        }
        if not self._shows_seed(run):
            del answer["seed"], answer["variation"]
        return answer

    def summary(self, run: Run) -> wire.Summary:
        """The run summary: scores are null while the run is active, and until a final run is published."""
        theme, seed, variation = run.key
        answer: wire.Summary = {
            "run_id": run.run_id,
            "kind": run.kind.value,
            "theme": theme,
            "seed": seed,
            "variation": variation,
            "status": run.status,
            "started_at": iso(run.started_at),
            "deadline_at": _moment(run.deadline_at),
            "finished_at": _moment(run.finished_at),
            "cost_usd": None,
            "accuracy": None,
            "cost_score": None,
            "final_score": None,
        }
        if not self._shows_seed(run):
            del answer["seed"], answer["variation"]
        if run.results_open and run.accuracy is not None and run.cost_usd is not None:
            cost = cost_score(run.cost_usd, self._floor, self._cap)
            answer["cost_usd"] = round(run.cost_usd, 6)
            answer["accuracy"] = round(run.accuracy, 4)
            answer["cost_score"] = round(cost, 4)
            answer["final_score"] = round(run.accuracy * (0.5 + 0.5 * cost), 4)
        return answer

    def detail(self, run: Run) -> wire.RunDetail:
        """Answer of GET /runs/{run_id}."""
        return {**self.summary(run), "tasks": self._tasks(run)}

    def finished(self, run: Run) -> wire.Finished | wire.FinalFinished:
        """Answer of finish."""
        submitted = sum(work.submission is not None for work in run.works.values())
        if run.kind is Kind.FINAL:
            assert run.status != "active"
            return {
                "received": True,
                "run_id": run.run_id,
                "status": run.status,
                "tasks_submitted": submitted,
                "tasks_total": len(run.works),
            }
        return {**self.detail(run), "tasks_submitted": submitted, "tasks_total": len(run.works)}

    def submitted(self, run: Run, task_id: str) -> wire.Received | wire.Feedback:
        """Answer of submit: feedback for a dev run, a receipt for a final one."""
        work = run.works[task_id]
        if run.kind is Kind.FINAL:
            return {"received": True, "task_id": task_id}
        assert work.submission is not None
        return {"received": True, "task_id": task_id, **grade_item(work.submission.grade)}

    def _tasks(self, run: Run) -> list[wire.TaskDetail]:
        return [self._task(run, task_id, work) for task_id, work in run.works.items()]

    def _task(self, run: Run, task_id: str, work: TaskWork) -> wire.TaskDetail:
        dev = run.kind is Kind.DEV
        answer: wire.TaskDetail = {
            "task_id": task_id,
            "instruction": work.task.instruction,
            "level": work.task.level,
            "submitted": work.submission is not None,
            "tool_calls": work.tool_calls,
            "grade": grade_item(work.submission.grade) if work.submission and dev else None,
        }
        if dev and not run.active:
            answer["expected_outcome"] = str(work.task.expected_outcome)
            answer["expected_answer"] = work.task.expected_answer
            answer["expected_sources"] = [source.wire() for source in work.task.expected_sources]
            answer["submission"] = _submission(work.submission)
        return answer

    def _shows_seed(self, run: Run) -> bool:
        return run.kind is Kind.DEV or self._choices.final_seed_shown


def grade_item(grade: Grade) -> wire.GradeItem:
    """A grade with the fields and the two decimals that the text shows."""
    return {
        "score": round(grade.score or 0.0, 2),
        "answer_score": round(grade.answer_score or 0.0, 2),
        "constraints_ok": bool(grade.constraints_ok),
        "sources_hit": grade.sources_hit or 0,
        "sources_expected": grade.sources_expected or 0,
        "sources_score": round(grade.sources_score or 0.0, 2),
        "feedback": list(grade.feedback),
    }


def _submission(submission: Submission | None) -> dict[str, Any] | None:
    if submission is None:
        return None
    return {
        "outcome": submission.outcome,
        "answer": submission.answer,
        "sources": submission.sources,
    }


def _moment(at: float | None) -> str | None:
    return None if at is None else iso(at)
