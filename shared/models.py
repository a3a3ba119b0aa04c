"""The words of Scrimmage as types: what producer, workers, platforms and solvers hand to each other.

Models that cross a border (ledger, archive, solver, CLI) are frozen pydantic models. Anything from a
platform is parsed by the platform's own module first; unknown fields there are ignored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

JsonObject = dict[str, JsonValue]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~+@-]{0,127}")


class Frozen(BaseModel):
    """Base of the models: immutable, and strict about names that nobody declared."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Kind(StrEnum):
    """Dev runs are free and repeatable; the final run exists once."""

    DEV = "dev"
    FINAL = "final"


class RunStatus(StrEnum):
    """States of a run in the ledger: opening → solving → finishing → one of the last four."""

    OPENING = "opening"
    SOLVING = "solving"
    FINISHING = "finishing"
    FINISHED = "finished"
    EXPIRED = "expired"
    FAILED = "failed"
    REJECTED = "rejected"

    @property
    def final(self) -> bool:
        """True where nothing more will happen to the run."""
        return self in {RunStatus.FINISHED, RunStatus.EXPIRED, RunStatus.FAILED, RunStatus.REJECTED}


class TaskStatus(StrEnum):
    """States of a task in the ledger: queued → leased → solved → submitting → submitted.

    ``waiting`` holds a come-back or an infrastructure failure until its due time; ``gave_up`` is a task
    whose attempts were used up by its solver.
    """

    QUEUED = "queued"
    LEASED = "leased"
    WAITING = "waiting"
    SOLVED = "solved"
    SUBMITTING = "submitting"
    SUBMITTED = "submitted"
    GAVE_UP = "gave_up"


class RunRef(Frozen):
    """Names one run everywhere: in Redis keys, job messages, the archive and on the command line.

    Both parts come from outside, so both are checked: they become part of keys and file names.
    """

    platform: str
    run_id: str

    @field_validator("platform", "run_id")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if not _ID.fullmatch(value):
            raise ValueError(f"not usable as an id: {value[:80]!r}")
        return value

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``platform:run_id``. Raises ValueError where the text is another."""
        platform, colon, run_id = text.partition(":")
        if not colon:
            raise ValueError(f"expected platform:run_id, got {text[:80]!r}")
        return cls(platform=platform, run_id=run_id)

    def __str__(self) -> str:
        return f"{self.platform}:{self.run_id}"


class Source(Frozen):
    """A citation: a path and the most specific locator that the file type has.

    Harness Arena Task API v1, "Submitting": pdf → page; csv/json → record; xlsx/ods → sheet + row (record
    too where the sheet was built from a csv); docx/odt → paragraph; text/markdown/jsonl → line; images →
    path alone. All numbers are 1-based.
    """

    path: str
    page: Annotated[int, Field(ge=1)] | None = None
    record: str | None = None
    sheet: str | None = None
    row: Annotated[int, Field(ge=1)] | None = None
    paragraph: Annotated[int, Field(ge=1)] | None = None
    line: Annotated[int, Field(ge=1)] | None = None

    def wire(self) -> JsonObject:
        """The source as platforms take it: only the fields that are set."""
        return self.model_dump(exclude_none=True)


class Effect(Frozen):
    """A state-changing tool call that a solution declares. The pool executes it, once."""

    tool: str
    args: dict[str, JsonValue] = Field(default_factory=dict)


class EffectResult(Frozen):
    """What became of one effect of a task.

    ``position`` counts the effects of the task from 0 in the order in which they were declared.
    ``ok`` is None while the outcome is unknown; ``refused_by`` names a guard rule that held it back.
    """

    position: int
    effect: Effect
    ok: bool | None = None
    result: JsonValue = None
    error: str | None = None
    refused_by: str | None = None


class Solution(Frozen):
    """A solver's decision on a task: outcome, answer, citations, and the effects to be carried out."""

    outcome: str = "OK"
    answer: JsonValue = None
    sources: tuple[Source, ...] = ()
    effects: tuple[Effect, ...] = ()

    @model_validator(mode="after")
    def _can_be_written(self) -> Self:
        """What cannot be stored or sent (NaN, half a surrogate pair) is refused where its author sees it."""
        try:
            self.model_dump_json()
        except ValueError as error:
            raise ValueError(f"not JSON data: {error}") from None
        return self


class Task(Frozen):
    """One task of a run, with the platform's own ids; None where the platform has no such thing."""

    run_id: str
    task_id: str
    instruction: str = ""
    level: int | None = None
    grader_type: str | None = None
    extra: JsonObject = Field(default_factory=dict)


class RunRequest(Frozen):
    """What a person asked for: enough to open a run, to find it after an unclear answer, and to play it.

    ``options`` are the platform's own (a benchmark's slug, models to queue). ``budget_seconds`` bounds a
    run that has no deadline on the platform. ``sweep`` groups runs that were started together.
    """

    platform: str = "arena"
    kind: Kind = Kind.DEV
    seed: int | None = None
    solver: str = "baseline"
    options: JsonObject = Field(default_factory=dict)
    sweep: str | None = None
    budget_seconds: Annotated[float, Field(gt=0)] = 1800.0
    task_seconds: Annotated[float, Field(gt=0)] = 300.0
    attempts: Annotated[int, Field(ge=1)] = 3
    model_cache: bool = False
    """Identical model calls are replayed at no cost; never in a final run."""
    task_usd: Annotated[float, Field(ge=0)] | None = None
    run_usd: Annotated[float, Field(ge=0)] | None = None
    sweep_usd: Annotated[float, Field(ge=0)] | None = None
    """The most that model calls may cost, in US dollars: for one task, the run, the sweep."""

    @model_validator(mode="after")
    def _final_runs_replay_nothing(self) -> Self:
        if self.model_cache and self.kind is Kind.FINAL:
            raise ValueError("a final run does not replay model calls: leave --model-cache away")
        return self


class Run(Frozen):
    """An opened run, as the platform described it.

    ``seconds_left`` is ``deadline_at`` minus the server's own clock (its ``Date`` header) at the moment
    the answer came; the ledger turns it into a deadline on Redis's clock. None: no deadline.
    """

    platform: str
    run_id: str
    kind: Kind = Kind.DEV
    theme: str | None = None
    seed: int | None = None
    variation: int | None = None
    deadline_at: datetime | None = None
    seconds_left: float | None = None
    tasks: tuple[Task, ...] = ()
    opening_requests: int = 0
    """Requests that it took to open; those that follow are counted by the bucket."""
    extra: JsonObject = Field(default_factory=dict)

    @property
    def ref(self) -> RunRef:
        return RunRef(platform=self.platform, run_id=self.run_id)


class Grade(Frozen):
    """What a platform said about one submission; every field may be unknown."""

    score: float | None = None
    answer_score: float | None = None
    sources_score: float | None = None
    constraints_ok: bool | None = None
    sources_hit: int | None = None
    sources_expected: int | None = None
    feedback: tuple[str, ...] = ()


class Receipt(Frozen):
    """The platform's word on one submitted task: accepted, or refused for good (``reason``)."""

    task_id: str
    accepted: bool = True
    grade: Grade | None = None
    reason: str | None = None


class Reveal(Frozen):
    """What a dev run shows of one task after its end."""

    task_id: str
    expected_outcome: str | None = None
    expected_answer: JsonValue = None
    expected_sources: tuple[JsonObject, ...] = ()
    submission: JsonValue = None
    grade: Grade | None = None


class Scorecard(Frozen):
    """How a run ended on the platform; None where the platform does not say (yet)."""

    status: str | None = None
    accuracy: float | None = None
    cost_usd: float | None = None
    cost_score: float | None = None
    final_score: float | None = None
    tasks_submitted: int | None = None
    tasks_total: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    reveals: tuple[Reveal, ...] = ()
    extra: JsonObject = Field(default_factory=dict)


class TaskView(Frozen):
    """What the platform shows of one task: the only witness after an unclear write."""

    submitted: bool = False
    tool_calls: int | None = None
    grade: Grade | None = None


class RunView(Frozen):
    """What the platform shows of a run: the truth that settles unclear writes."""

    status: str
    tasks: dict[str, TaskView] = Field(default_factory=dict)
    seconds_left: float | None = None
    scorecard: Scorecard | None = None


class ToolResult(Frozen):
    """A tool's answer: ``{"ok": true, "result": …}`` or ``{"ok": false, "error": "…"}``."""

    ok: bool
    result: JsonValue = None
    error: str | None = None


@dataclass(frozen=True)
class Limits:
    """A platform's request limit: ``rate`` requests per second in the long run, ``burst`` at once."""

    rate: float
    burst: int


def plain(value: Any) -> JsonValue:
    """A value of a solver or library as JSON data: dates as ISO text, sets and tuples as lists.

    Raises ValueError for what JSON cannot say (NaN, infinities, bytes, objects).
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"not a JSON number: {value}")
        return value
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json"))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise ValueError(f"not JSON data: a {type(value).__name__}")
