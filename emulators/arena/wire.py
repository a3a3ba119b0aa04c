"""What goes over the wire: the bodies that requests bring and the answers they get, as the text has them.

Bodies are pydantic models: their errors name the field. Answers are typed dictionaries, plain data at run
time; the OpenAPI document is made from them and a test holds real answers against them.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
)
from typing_extensions import TypedDict

from shared.errors import Refused
from shared.models import Kind, Source

MOST_BODY_BYTES = 2 * 2**20
_MOST_LEVELS = 64

_MOST_SEED = 2**53

B = TypeVar("B", bound=BaseModel)


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


def _no_other_type(value: object) -> object:
    """Python takes ``true`` and ``"1"`` for whole numbers, JSON does not."""
    if isinstance(value, bool | str):
        raise ValueError("must be a whole number")
    return value


WholeNumber = Annotated[int, BeforeValidator(_no_other_type)]
Place = Annotated[int, Field(ge=1), BeforeValidator(_no_other_type)]


class RunBody(_Body):
    """Body of POST /runs."""

    kind: Kind = Kind.DEV
    seed: Annotated[int, Field(ge=-_MOST_SEED, le=_MOST_SEED), BeforeValidator(_no_other_type)] | None = None


class SourceBody(_Body):
    """One citation of a submission; fields that nobody knows are ignored, a record may be a number."""

    path: Annotated[str, Field(max_length=1000)]
    page: Place | None = None
    record: Annotated[str, Field(max_length=1000)] | WholeNumber | None = None
    sheet: Annotated[str, Field(max_length=1000)] | None = None
    row: Place | None = None
    paragraph: Place | None = None
    line: Place | None = None

    def source(self) -> Source:
        """The citation in our own words."""
        record = None if self.record is None else str(self.record)
        return Source(**{**self.model_dump(), "record": record})


class SubmitBody(_Body):
    """Body of …/submit."""

    outcome: Literal["OK", "DENIED_SECURITY", "NEEDS_CLARIFICATION", "UNSUPPORTED"]
    answer: JsonValue = None
    sources: Annotated[tuple[SourceBody, ...], Field(max_length=500)] = ()


class SpendBody(_Body):
    """Body of POST /_emulator/spend."""

    team: str
    kind: Kind = Kind.DEV
    usd: Annotated[float, Field(ge=0, le=1e6)]


class ClockBody(_Body):
    """Body of POST /_emulator/clock."""

    advance: Annotated[float, Field(ge=0, le=366 * 86400)]


def parse_json(body: bytes) -> Any:
    """A request's body as JSON data that can be stored, compared and sent back.

    Raises:
        Refused: 400, it is not JSON; or it holds what only some parsers take: NaN, numbers beyond a float,
            half surrogate pairs, or more than 64 levels.
    """
    try:
        data = json.loads(body, parse_constant=_number, parse_float=_number)
        if b"\\u" in body:
            json.dumps(data, ensure_ascii=False).encode()
        if _levels(data) > _MOST_LEVELS:
            raise RecursionError
    except RecursionError:
        raise Refused("invalid JSON: nested too deeply", status=400) from None
    except ValueError as error:
        raise Refused(f"invalid JSON: {str(error)[:200]}", status=400) from None
    return data


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not a number that JSON can hold")
    return number


def _levels(data: Any) -> int:
    levels = 0
    layer = [data]
    while layer and levels <= _MOST_LEVELS:
        levels += 1
        layer = [
            inner
            for value in layer
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
    return levels


def parse_object(data: Any) -> dict[str, Any]:
    """JSON data that must be an object (the arguments of a tool). Raises Refused: 400."""
    if not isinstance(data, dict):
        raise Refused("body: must be a JSON object", status=400)
    return data


def parse_body(model: type[B], data: Any) -> B:
    """Hold JSON data against a model.

    Raises:
        Refused: 400; the message says which field ("sources.0.page: …").
    """
    try:
        return model.model_validate(parse_object(data))
    except ValidationError as error:
        row = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in row["loc"]) or "body"
        raise Refused(f"{field}: {row['msg'].removeprefix('Value error, ')}", status=400) from None


class Error(TypedDict):
    error: str


class Team(TypedDict):
    id: str
    name: str


class FinalWindow(TypedDict):
    open: bool
    opens_at: str | None
    closes_at: str | None


class Me(TypedDict):
    team: Team
    final_window: FinalWindow
    final_run_used: bool


class Tool(TypedDict):
    name: str
    description: str
    args: dict[str, str]
    result: str


class Tools(TypedDict):
    tools: list[Tool]


class TaskItem(TypedDict):
    task_id: str
    instruction: str
    level: int


class NewRun(TypedDict):
    run_id: str
    kind: Literal["dev", "final"]
    theme: str
    seed: NotRequired[int]
    variation: NotRequired[int]
    deadline_at: str | None
    tasks: list[TaskItem]


class GradeItem(TypedDict):
    score: float
    answer_score: float
    constraints_ok: bool
    sources_hit: int
    sources_expected: int
    sources_score: float
    feedback: list[str]


class Summary(TypedDict):
    run_id: str
    kind: Literal["dev", "final"]
    theme: str
    seed: NotRequired[int]
    variation: NotRequired[int]
    status: Literal["active", "finished", "expired"]
    started_at: str
    deadline_at: str | None
    finished_at: str | None
    cost_usd: float | None
    accuracy: float | None
    cost_score: float | None
    final_score: float | None


class Runs(TypedDict):
    runs: list[Summary]
    next_cursor: NotRequired[str | None]


class TaskDetail(TaskItem):
    submitted: bool
    tool_calls: int
    grade: GradeItem | None
    expected_outcome: NotRequired[str]
    expected_answer: NotRequired[Any]
    expected_sources: NotRequired[list[dict[str, Any]]]
    submission: NotRequired[dict[str, Any] | None]


class RunDetail(Summary):
    tasks: list[TaskDetail]


class Finished(RunDetail):
    tasks_submitted: int
    tasks_total: int


class FinalFinished(TypedDict):
    received: Literal[True]
    run_id: str
    status: Literal["finished", "expired"]
    tasks_submitted: int
    tasks_total: int


class ToolOk(TypedDict):
    ok: Literal[True]
    result: Any


class ToolFailed(TypedDict):
    ok: Literal[False]
    error: str


class Received(TypedDict):
    received: Literal[True]
    task_id: str


class Feedback(GradeItem):
    received: Literal[True]
    task_id: str


class BlobItem(TypedDict):
    sha256: str
    size: int
    kind: str
    content_type: str


class TaskFiles(TypedDict):
    task_id: str
    files: dict[str, str]


class RunManifest(TypedDict):
    blobs: list[BlobItem]
    tasks: list[TaskFiles]
    total_bytes: int


class FileItem(TypedDict):
    path: str
    kind: str
    size: int
    sha256: str
    content_type: str
    readable: bool


class TaskManifest(TypedDict):
    files: list[FileItem]
    total_bytes: int
