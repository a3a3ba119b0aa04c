"""What the Harness Arena says of account, tools and runs (Harness Arena Task API v1, "Endpoints" and the
sections after it). ``wire`` says how liberally it is read.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from shared.models import Grade, Kind, Reveal, Run, RunView, Scorecard, Task, TaskView
from shared.platforms.arena.wire import (
    LENIENT,
    Count,
    Flag,
    Id,
    Moment,
    Number,
    Objects,
    TaskId,
    Text,
    Whole,
    Wire,
    items,
)


class Team(Wire):
    id: Text = None
    name: Text = None


class FinalWindow(Wire):
    open: Flag = None
    opens_at: Moment = None
    closes_at: Moment = None


class Me(Wire):
    """``GET /me``."""

    team: Annotated[Team | None, LENIENT] = None
    final_window: Annotated[FinalWindow | None, LENIENT] = None
    final_run_used: Flag = None


class ToolSpec(Wire):
    name: str
    description: Text = None
    args: JsonValue = None


class Tools(Wire):
    """``GET /tools``; a bare list is read too."""

    tools: Annotated[list[ToolSpec], items(ToolSpec)]

    @model_validator(mode="before")
    @classmethod
    def _bare_list(cls, value: Any) -> Any:
        return {"tools": value} if isinstance(value, list) else value


class ToolAnswer(Wire):
    """``{"ok": true, "result": …}`` or ``{"ok": false, "error": …}``."""

    ok: bool
    result: JsonValue = None
    error: JsonValue = None

    def message(self) -> str | None:
        """The error as text, None where the call went well."""
        if self.ok:
            return None
        return self.error if isinstance(self.error, str) else json.dumps(self.error)


def _grade(value: Any) -> Any:
    """A bare number is a score."""
    return {"score": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


class GradeFields(Wire):
    score: Number = None
    answer_score: Number = None
    sources_score: Number = None
    constraints_ok: Flag = None
    sources_hit: Count = None
    sources_expected: Count = None
    feedback: Annotated[tuple[str, ...] | None, LENIENT] = None

    def grade(self) -> Grade | None:
        """The grade, None where nothing is known of it."""
        known = self.model_dump(include=set(GradeFields.model_fields), exclude_none=True)
        return Grade(**known) if known else None


class Submitted(GradeFields):
    """The answer to a submit: a grade in dev runs, ``{"received": true, "task_id"}`` in final ones."""

    received: Flag = None
    task_id: Text = None

    @model_validator(mode="after")
    def _was_received(self) -> Self:
        if self.received is False or (
            self.received is None and self.task_id is None and self.grade() is None
        ):
            raise ValueError("does not say that the submission was received")
        return self


class TaskDetail(Wire):
    """A task as POST /runs and GET /runs/{run_id} show it, with the reveal of an ended dev run."""

    task_id: TaskId
    instruction: Text = None
    level: Whole = None
    submitted: Flag = None
    tool_calls: Count = None
    grade: Annotated[GradeFields | None, BeforeValidator(_grade), LENIENT] = None
    expected_outcome: Text = None
    expected_answer: JsonValue = None
    expected_sources: Objects = Field(default_factory=list)
    submission: JsonValue = None

    @property
    def revealed(self) -> bool:
        return (
            self.expected_outcome is not None
            or self.expected_answer is not None
            or bool(self.expected_sources)
        )

    def reveal(self) -> Reveal:
        return Reveal(
            task_id=self.task_id,
            expected_outcome=self.expected_outcome,
            expected_answer=self.expected_answer,
            expected_sources=tuple(self.expected_sources),
            submission=self.submission,
            grade=self.grade.grade() if self.grade else None,
        )

    def view(self) -> TaskView:
        return TaskView(
            submitted=bool(self.submitted) or (self.submitted is None and self.grade is not None),
            tool_calls=self.tool_calls,
            grade=self.grade.grade() if self.grade else None,
        )


class RunFields(Wire):
    """The run summary, where every field may be missing (the answer to finish in a final run)."""

    kind: Text = None
    theme: Text = None
    seed: Whole = None
    variation: Whole = None
    status: Text = None
    started_at: Moment = None
    deadline_at: Moment = None
    finished_at: Moment = None
    cost_usd: Number = None
    accuracy: Number = None
    cost_score: Number = None
    final_score: Number = None
    tasks_submitted: Count = None
    tasks_total: Count = None
    tasks: Annotated[list[TaskDetail], items(TaskDetail)] = Field(default_factory=list)

    @property
    def over(self) -> bool:
        """True where the run takes no more submissions."""
        return self.status in {"finished", "expired"} or (
            self.status is None and self.finished_at is not None
        )

    def scorecard(self) -> Scorecard:
        submitted = self.tasks_submitted
        if submitted is None and self.tasks:
            submitted = sum(task.view().submitted for task in self.tasks)
        return Scorecard(
            status=self.status,
            accuracy=self.accuracy,
            cost_usd=self.cost_usd,
            cost_score=self.cost_score,
            final_score=self.final_score,
            tasks_submitted=submitted,
            tasks_total=self.tasks_total if self.tasks_total is not None else len(self.tasks) or None,
            started_at=self.started_at,
            finished_at=self.finished_at,
            reveals=tuple(task.reveal() for task in self.tasks if task.revealed),
        )


class RunSummary(RunFields):
    """One run of GET /runs; with its tasks the answer to POST /runs and GET /runs/{run_id}."""

    run_id: Id

    def run(self, kind: Kind, server_now: float) -> Run:
        """The run as the pool knows it. ``server_now``: the platform's clock, seconds since the epoch."""
        return Run(
            platform="arena",
            run_id=self.run_id,
            kind=kind,
            theme=self.theme,
            seed=self.seed,
            variation=self.variation,
            deadline_at=self.deadline_at,
            seconds_left=self.seconds_left(server_now),
            opening_requests=1,
            tasks=tuple(
                Task(
                    run_id=self.run_id,
                    task_id=task.task_id,
                    instruction=task.instruction or "",
                    level=task.level,
                )
                for task in self.tasks
            ),
        )

    def view(self, server_now: float) -> RunView:
        return RunView(
            status=self.status or ("finished" if self.over else "active"),
            tasks={task.task_id: task.view() for task in self.tasks},
            seconds_left=self.seconds_left(server_now),
            scorecard=self.scorecard() if self.over else None,
        )

    def seconds_left(self, server_now: float) -> float | None:
        """Until ``deadline_at``, None where there is none.

        One second less than the clocks say: ``Date`` has whole seconds, and the rest is cut off.
        """
        if self.deadline_at is None:
            return None
        return max(0.0, self.deadline_at.timestamp() - server_now - 1.0)


class Runs(Wire):
    """``GET /runs``; a bare list is read too. The text says nothing of paging: the usual hints are kept."""

    runs: Annotated[list[RunSummary], items(RunSummary)]
    next: Text = None
    next_cursor: Text = None
    has_more: Flag = None

    @model_validator(mode="before")
    @classmethod
    def _bare_list(cls, value: Any) -> Any:
        return {"runs": value} if isinstance(value, list) else value
