"""Play many runs, at most K in flight, and keep each of them when it ends.

A sweep is paced by the runs that are not over: opening, solving or finishing. Jobs are sent in rounds that
take one task of each run in turn (``shared.pool.dispatch``), so neither a large sweep nor a large run starves
another. Ctrl-C stops the pacing only: what was opened goes on wherever workers live. Openings and archiving
run on daemon threads, which hold no command back that was told to stop: both can be broken off anywhere.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from producer.archive import Archive
from producer.archiving import save
from producer.health import require_workers
from producer.notebook import Notebook
from producer.receipt import has_receipt, write_receipt
from producer.runs import hand_out, open_run, rebuild
from producer.summary import Summary, summarise
from shared.deadline import Deadline
from shared.errors import DeadlinePassed, Refused, ScrimmageError, Unavailable, Unclear
from shared.models import Kind, RunRef, RunRequest
from shared.platforms.answer import printable
from shared.platforms.base import Platform
from shared.pool.ledger import RunState
from shared.pool.pool import Pool

T = TypeVar("T")

_TICK_SECONDS = 0.1
_AT_ONCE = 4
"""Openings at a time: each of them waits for the platform."""

_PATIENCE_SECONDS = 900.0
"""So long a sweep that has begun waits for a platform that opens no more runs."""


@dataclass
class Sweep:
    """The state of a sweep while it is played; the live view reads it.

    ``opening`` counts requests on their way to the platform, and those that may have opened a run;
    ``trouble`` is why none can be opened just now. ``flying`` are runs that are not over, or not archived
    yet, as last read from the ledger (None before the first look), ``done`` summaries in the order in which
    runs ended, ``refused`` what the platform said no to, ``unkept`` why runs of ``done`` are not in the
    archive.
    """

    total: int = 0
    opening: int = 0
    trouble: str | None = None
    flying: dict[RunRef, RunState | None] = field(default_factory=dict)
    done: list[Summary] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    unkept: list[ScrimmageError] = field(default_factory=list)

    @property
    def incomplete(self) -> bool:
        """True where a run ended without all of its tasks submitted, was refused, or is not archived."""
        return bool(self.refused or self.unkept) or any(not row.complete for row in self.done)


def requests_of(
    template: RunRequest, *, runs: int, seeds: Sequence[int], solvers: Sequence[str]
) -> list[RunRequest]:
    """The requests of a sweep: every seed (or ``runs`` times a fresh one) with every solver.

    With several solvers each fresh seed is used for all of them, so that they can be compared.
    """
    name = template.sweep or f"sweep-{secrets.token_hex(4)}"
    chosen: list[int | None] = list(seeds) if seeds else [None] * runs
    if not seeds and len(solvers) > 1:
        chosen = [secrets.randbelow(2**31) for _ in range(runs)]
    return [
        template.model_copy(update={"seed": seed, "solver": solver, "sweep": name})
        for seed, solver in itertools.product(chosen, solvers)
    ]


def play(
    pool: Pool,
    platform: Platform,
    requests: Iterable[RunRequest],
    *,
    in_flight: int,
    archive: Archive,
    view: Callable[[Sweep], None],
    joined: Sequence[RunRef] = (),
    sweep: Sweep | None = None,
) -> Sweep:
    """Play the requests (and runs in ``joined`` that are under way already) to their end.

    Args:
        in_flight: at most so many runs that are not over.
        view: called about ten times a second with the sweep's state.
        sweep: where to keep the state, for a caller who wants it however this ends; what it has stays in it.

    Returns:
        the sweep.

    Raises:
        SettingsError: no live worker can serve a request; nothing was opened for it.
        Unavailable: the platform or Redis did not answer; what was opened stays in the ledger.
    """
    queue = list(requests)
    sweep = sweep or Sweep()
    for request in {request.solver: request for request in queue}.values():
        require_workers(pool, platform, request, partial(_waiting, sweep, view))
    sweep.trouble = None
    sweep.total += len(queue) + len(joined)
    sweep.flying |= dict.fromkeys(joined)
    tick = threading.Event()
    queue.reverse()
    openings: list[Future[RunRef]] = []
    closings: dict[RunRef, Future[Summary]] = {}
    while queue or openings or sweep.flying:
        flying = len(openings) + len(sweep.flying) - len(closings)
        for _ in range(min(len(queue), in_flight - flying, _AT_ONCE - len(openings))):
            openings.append(_aside(partial(_open, pool, platform, queue.pop(), sweep)))
        sweep.opening = sum(not future.done() for future in openings)
        openings = [future for future in openings if not _opened(future, sweep)]
        for ref in _over(pool, platform, archive, sweep, closings):
            closings[ref] = _aside(partial(_close, pool, archive, ref, sweep))
        for ref in [ref for ref, future in closings.items() if future.done()]:
            sweep.done.append(closings.pop(ref).result())
            del sweep.flying[ref]
        hand_out(pool)
        view(sweep)
        tick.wait(_TICK_SECONDS)
    view(sweep)
    for name in {row.sweep for row in sweep.done if row.sweep}:
        pool.spend.close_sweep(name)
    return sweep


def _waiting(sweep: Sweep, view: Callable[[Sweep], None], reason: str) -> None:
    sweep.trouble = sweep.trouble or reason  # once: it is not to be told anew with every second
    view(sweep)


def _aside(work: Callable[[], T]) -> Future[T]:
    """Do something on a daemon thread."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=run, name="sweep", daemon=True).start()
    return future


def _open(pool: Pool, platform: Platform, request: RunRequest, sweep: Sweep) -> RunRef:
    """Open a run. A platform that is away is waited for later on, but not at the beginning."""

    def trouble(reason: str) -> None:
        sweep.trouble = printable(reason)

    later = Deadline.after(_PATIENCE_SECONDS) if sweep.flying or sweep.done else None
    ref = open_run(pool, platform, request, patience=later, trouble=trouble)
    sweep.trouble = None
    return ref


def _opened(future: Future[RunRef], sweep: Sweep) -> bool:
    if not future.done():
        return False
    try:
        sweep.flying[future.result()] = None
    except Refused as refusal:
        sweep.refused.append(refusal)
    except (DeadlinePassed, Unclear):
        sweep.opening += 1
        raise
    return True


def _over(
    pool: Pool, platform: Platform, archive: Archive, sweep: Sweep, known: Collection[RunRef]
) -> list[RunRef]:
    """Read flying runs anew; those that ended, or that another command has archived, and are not known."""
    over = []
    for ref in sweep.flying.keys() - known:
        state = sweep.flying[ref] = pool.ledger.run(ref)
        if state.status.final if state is not None else archive.has(ref):
            over.append(ref)
        elif state is None:
            _bring_back(pool, platform, ref)
    return over


def _bring_back(pool: Pool, platform: Platform, ref: RunRef) -> None:
    """Redis has lost a run that is being followed."""
    note = Notebook(pool.settings.data).of(ref)
    try:
        found = None if note is None else rebuild(pool, platform, note)
    except Unavailable:
        return  # the next look tries again
    if found is None:
        raise ScrimmageError(f"{ref} is in the ledger no more, and cannot be found again from here")


def _close(pool: Pool, archive: Archive, ref: RunRef, sweep: Sweep) -> Summary:
    """Archive a run; where the disk does not let us its row is known all the same, and the others go on."""
    try:
        return close_run(pool, archive, ref)
    except Unavailable:
        raise
    except ScrimmageError as error:
        state = pool.ledger.run(ref)
        if state is None:
            raise
        sweep.unkept.append(error)
        return summarise(pool, state)


def close_run(pool: Pool, archive: Archive, ref: RunRef) -> Summary:
    """Archive a run that is over, unless another command did, and let go of its note.

    The note is read first: of two commands that close one run neither finds run and note gone half-way.
    """
    notebook = Notebook(pool.settings.data)
    note = notebook.of(ref)
    state = pool.ledger.run(ref)
    if state is not None and not state.archived:
        save(pool, archive, ref)
    archived = archive.load(ref)
    if archived.summary.kind == Kind.FINAL and (note is not None or not has_receipt(archived)):
        write_receipt(archived, {} if note is None else note.facts)
    if note is not None:
        notebook.forget(note.request_id)
    return archived.summary


def close_due(pool: Pool, archive: Archive) -> list[Summary]:
    """Close what ended while nobody was there to do it (the command that started it died)."""
    states = pool.ledger.runs()
    return [
        close_run(pool, archive, state.ref) for state in states if state.status.final and not state.archived
    ]
