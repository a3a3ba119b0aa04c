"""Asking a solver: what it is given, and what its word is worth.

A solver is code of somebody else's. Whatever it raises or returns ends here as a Solution, a ComeBack, an
infrastructure failure that it passed on, or a SolverFault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from hashlib import sha256
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

from pydantic import JsonValue, ValidationError

from shared.deadline import Deadline
from shared.errors import (
    ComeBack,
    DeadlinePassed,
    LeaseLost,
    NotAuthorised,
    SettingsError,
    SolverFault,
    Unavailable,
)
from shared.models import EffectResult, JsonObject, Solution, ToolResult, plain
from shared.platforms.base import Platform
from shared.workspace.trust import TrustedTools
from workers.context import TaskContext, Tools
from workers.desk import Desk
from workers.guard import HardRules
from workers.leases import Held
from workers.transcript import Transcript
from workers.worker import Worker

if TYPE_CHECKING:
    from shared.workspace.workspace import Workspace

CLOSING_SECONDS, CLOSING_PART = 15.0, 0.1
"""Time of a task that its solver does not get, whichever is less: it is for effects and report."""

LAST_SECONDS, LAST_PART = 20.0, 0.2
"""Likewise, time of a solver that its model calls do not get: for its last word if the model stays silent."""

LONGEST_PAUSE = 86_400.0
"""Seconds of a come-back, at most."""

LARGEST_SOLUTION = 2**20
"""Bytes of JSON; no platform takes an answer of that size."""


class Asking:
    """The solver of one task, with all that it is given.

    Args:
        held: the task's lease; a tool call checks it.
        transcript: notes what is asked and answered.
    """

    def __init__(
        self, worker: Worker, platform: Platform, solver: str, held: Held, transcript: Transcript
    ) -> None:
        self._worker = worker
        self._platform = platform
        self._solver = solver
        self._held = held
        self._transcript = transcript
        self._run = held.lease.run
        self._task = held.lease.task
        self._deadline = _sooner(held.lease.seconds_left, CLOSING_SECONDS, CLOSING_PART)
        until = _sooner(self._deadline.left(), LAST_SECONDS, LAST_PART)
        # Without a reference to itself: a cycle would keep the run's tasks until a full collection.
        self._model = cache(partial(worker.models.of, held.lease, until, transcript))
        self._workspace: Workspace | None = None
        self._opened = False

    def decide(self, results: Sequence[EffectResult] = ()) -> Solution:
        """The solver's decision, with its sources checked against the workspace.

        Args:
            results: of the effects of a first decision, when the solver is asked a second time.

        Raises:
            ComeBack: the solver wants to be asked again later.
            SolverFault: it raised, or returned what is not a Solution.
            Unavailable, NotAuthorised, SettingsError: it could not be asked, or could not work.
            LeaseLost: the task belongs to somebody else by now.
        """
        solver = self._worker.solvers.get(self._solver)
        context = TaskContext(
            tools=Tools(
                self.workspace,
                self._trusted,
                self._platform.read_only,
                self._listed,
                self._remote,
                self._transcript,
            ),
            workspace=self.workspace,
            model=self._model,
            deadline=self._deadline,
            transcript=self._transcript,
            closing=self._held.lease.seconds_left < self._held.lease.request.task_seconds - 1,
            library=self._library,
            once=self._once,
            effects=results,
            state=self._held.lease.state,
        )
        try:
            returned: object = solver.solve(self._task, context)
        except LeaseLost:
            raise
        except ComeBack as wish:
            raise _checked_wish(wish) from None
        except BaseException as error:  # an asyncio.CancelledError, say, would end the process for all
            if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                raise  # Ctrl-C, under a pool of Celery's that solves there
            if (cause := _infrastructure(error)) is not None:
                raise cause from error
            self._transcript.failure("solver_raised", error)
            raise SolverFault(f"the solver raised {type(error).__name__}: {error}") from error
        solution = _checked(returned)
        if self._worker.mask.finds(solution.model_dump_json()):
            raise SolverFault("the solver's solution holds a key or a password of this pool")
        self._transcript.add("decided", **solution.model_dump(mode="json"))
        return self._with_true_sources(solution)

    def workspace(self) -> Workspace | None:
        """The task's workspace, opened on the first call; None where the platform has no files."""
        if not self._opened:
            self._held.check()
            with _patient("the workspace"):
                self._workspace = self._worker.open_workspace(
                    self._platform, self._run, self._task, self._held.until
                )
            self._opened = True
        return self._workspace

    def _library(self) -> Workspace | None:
        self._held.check()
        with _patient("the files of the run"):
            return self._worker.open_library(self._platform, self._run, self._task, self._deadline)

    def _once(self, name: str, make: Callable[[], str]) -> str:
        pool, request = self._worker.pool, f"once:{name}".encode()

        def made() -> str:
            text = make()
            pool.replays.put(request, text.encode())
            return text

        def kept() -> str | None:
            text = pool.replays.get(request)
            return None if text is None else text.decode()

        return pool.flights.fly(f"once:{sha256(request).hexdigest()}", made, kept, self._deadline)

    def policy(self) -> HardRules:
        """What the operator files of the workspace say about effects."""
        workspace = self.workspace()
        return HardRules() if workspace is None else HardRules.of(Desk(workspace))

    def _trusted(self, workspace: Workspace) -> TrustedTools:
        trust = self._worker.trust(self._platform, self._run)
        return TrustedTools(workspace.tools, self._remote, trust, workspace.paths(), self._deadline)

    def _listed(self) -> Mapping[str, JsonObject]:
        with _patient("the list of tools"):
            return self._platform.tools(self._run)

    def _remote(self, name: str, args: Mapping[str, JsonValue]) -> ToolResult:
        self._held.check()
        self._deadline.check(f"calling {name}")
        with _patient(f"the tool {name}"):
            self._worker.pool.journal.count_call(self._held.lease)
            return self._platform.call_tool(self._run, self._task, name, args, self._deadline)

    def _with_true_sources(self, solution: Solution) -> Solution:
        """Without the sources that do not exist; what the solver did not open is not fetched for this."""
        workspace = self.workspace() if solution.sources else None
        if workspace is None:
            return solution
        checked = workspace.check_sources(solution.sources)
        for note in checked.notes:
            self._transcript.add("source_checked", source=note.source.wire(), why=note.why)
        return solution.model_copy(update={"sources": checked.sources})


def _sooner(left: float, seconds: float, part: float) -> Deadline:
    """So many seconds before what is left, or a part of it before, whichever is later."""
    return Deadline.after(left - min(seconds, left * part))


@contextmanager
def _patient(what: str) -> Iterator[None]:
    """Time that runs out while the platform is waited for is the platform's fault, not the solver's."""
    try:
        yield
    except DeadlinePassed as error:
        raise Unavailable(f"{what} did not come in time: {error}") from error


def _checked_wish(wish: ComeBack) -> ComeBack:
    """A wish to come back, as the ledger can keep it."""
    try:
        if not 0 <= wish.after <= LONGEST_PAUSE:
            raise ValueError(f"after must be 0 to {LONGEST_PAUSE:.0f} seconds, not {wish.after!r}")
        state = plain(wish.state)
        assert isinstance(state, dict)
        return ComeBack(wish.after, state)
    except (TypeError, ValueError) as error:
        raise SolverFault(f"the solver's ComeBack cannot be kept: {error}") from error


def _checked(returned: object) -> Solution:
    """What a solver returned, as a Solution that can be stored and sent."""
    if not isinstance(returned, Solution):
        raise SolverFault(f"the solver returned {_named(returned)}, not a Solution")
    try:
        solution = Solution.model_validate(plain(returned))
        size = len(solution.model_dump_json().encode())
    except ValidationError as error:
        row = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, row["loc"]))
        raise SolverFault(f"the solver's solution is wrong in {where}: {row['msg']}") from error
    except ValueError as error:
        raise SolverFault(f"the solver's solution cannot be sent: {error}") from error
    if size > LARGEST_SOLUTION:
        raise SolverFault(f"the solver's solution has {size} bytes, at most {LARGEST_SOLUTION} can be stored")
    return solution


def _named(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def _infrastructure(error: BaseException) -> Unavailable | NotAuthorised | SettingsError | None:
    """The infrastructure failure that an error is, or was raised because of."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, Unavailable | NotAuthorised | SettingsError):
            return cause
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return None
