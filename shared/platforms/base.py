"""What a platform is to the pool. The core (producer, workers, finalizer) knows this and no platform's name.

A platform is made once per process by its class method ``create(settings, pool)`` and called from several
threads. Errors are those of ``shared.errors``: ``Refused`` (and its kinds) for a no, ``Unavailable`` for an
infrastructure failure, ``Unclear`` for a write whose fate even a look could not settle, ``DeadlinePassed``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from pydantic import JsonValue

from shared.deadline import Deadline
from shared.models import (
    JsonObject,
    Receipt,
    Run,
    RunRef,
    RunRequest,
    RunView,
    Scorecard,
    Solution,
    Task,
    ToolResult,
)
from shared.models import Limits as Limits  # noqa: PLC0414 - the pool needs it too, platforms find it here


@dataclass(frozen=True)
class Prepared:
    """What was read before the clock started; empty where there is nothing to read."""

    data: JsonObject = field(default_factory=dict)


class Files(Protocol):
    """The files of one run, as the platform lists them. Nothing is downloaded until asked for.

    ``paths`` is the task's own listing, ``by_task`` that of every task of the run (the fetch plan needs
    it), ``sizes`` gives bytes by sha256 where known. Fetching raises Unavailable or Refused; verifying the
    hash is the caller's part (``shared.workspace``).
    """

    @property
    def paths(self) -> Mapping[str, str]: ...
    @property
    def by_task(self) -> Mapping[str, Mapping[str, str]]: ...
    @property
    def sizes(self) -> Mapping[str, int]: ...
    def blob(self, sha256: str, task_id: str, deadline: Deadline) -> bytes:
        """One file by hash."""
        ...

    def bundle(self, task_id: str, deadline: Deadline) -> bytes | None:
        """All files of one task as a zip, in one request; None where the platform has no such thing."""
        ...


class Platform(Protocol):
    """One benchmark platform. ``name`` is what requests, keys and the archive call it."""

    name: str
    limits: Limits
    read_only: frozenset[str]
    """Tools that change nothing by the platform's own text: a call of one need not ask for the list."""

    def account(self) -> str:
        """Fingerprint of the key in use; names the bucket. Raises SettingsError where no key is set."""
        ...

    def prepare(self, request: RunRequest) -> Prepared:
        """Read everything that may be read before the clock starts."""
        ...

    def open(self, request: RunRequest, prepared: Prepared, request_id: str) -> Run:
        """Open a run. An unclear answer is settled (``adopt``) before anything is posted again."""
        ...

    def adopt(self, request: RunRequest, request_id: str, since: float) -> Run | None:
        """Find the run that an unclear open left behind, and claim it for ``request_id``.

        Args:
            since: seconds since the epoch, on Redis's clock, at which the request was written down.
        """
        ...

    def files(self, run: Run, task: Task) -> Files | None:
        """The task's files, None where the platform has none."""
        ...

    def tools(self, run: Run) -> Mapping[str, JsonObject]:
        """The run's tools by name: description, arguments, and ``effect: true`` where one changes state."""
        ...

    def call_tool(
        self, run: Run, task: Task, name: str, args: Mapping[str, JsonValue], deadline: Deadline
    ) -> ToolResult:
        """Call a tool on the platform.

        For a state-changing tool a lost answer raises Unclear: it is never repeated in here.
        """
        ...

    def look(self, run: Run, deadline: Deadline) -> RunView:
        """What the platform shows of the run now."""
        ...

    def submit(self, run: Run, solutions: Mapping[str, Solution], deadline: Deadline) -> Iterator[Receipt]:
        """Submit solutions by task id; yields one receipt per task as each is known.

        A refused submission is settled by looking; it yields ``accepted=False`` only where the platform
        shows that this task cannot be submitted any more.
        """
        ...

    def finish(self, run: Run, deadline: Deadline) -> Scorecard:
        """Close the run. Idempotent: a run that is closed already gives its scorecard."""
        ...

    def refresh(self, run: Run, deadline: Deadline) -> Scorecard:
        """Scores as they are known now (they may arrive after the end)."""
        ...

    def runs(self, deadline: Deadline) -> list[JsonObject]:
        """The account's runs as the platform lists them, for `status` and `resume`."""
        ...

    def recall(self, ref: RunRef, deadline: Deadline) -> tuple[Run, RunView]:
        """A run as the platform has it, for a pool that lost its own record. Raises NotFound."""
        ...

    def close(self) -> None:
        """Close this process's connections to the platform."""
        ...


@dataclass(frozen=True)
class Standing:
    """How an account stands with its one final run; None where the platform does not say.

    ``now`` is the platform's clock when it answered, in seconds since the epoch; ``told_clock`` is False
    where the answer named none and ours had to do. ``seconds`` is how long a final run lasts at most.
    """

    team: str | None
    window_open: bool | None
    opens_at: datetime | None
    closes_at: datetime | None
    used: bool | None
    now: float
    told_clock: bool
    seconds: float


@runtime_checkable
class Finals(Platform, Protocol):
    """A platform that has a final run: one per account, in a window, with a deadline."""

    def standing(self, deadline: Deadline) -> Standing:
        """Whether the final run may be started now. Raises NotAuthorised where the key is not valid."""
        ...

    def final_in_progress(self, deadline: Deadline) -> RunRef | None:
        """The account's final run, where one has begun and is not over."""
        ...
