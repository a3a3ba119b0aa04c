"""Play many runs, at most K in flight, and keep each of them when it ends.

A sweep is paced by the runs that are not over: opening, solving or finishing. Jobs are sent in rounds that
take one task of each run in turn (``shared.pool.dispatch``), so neither a large sweep nor a large run starves
another. Ctrl-C stops the pacing only: what was opened goes on wherever workers live.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from producer.archive import Archive
from producer.health import require_workers
from producer.notebook import Notebook
from producer.receipt import has_receipt, write_receipt
from producer.runs import hand_out, open_run, rebuild
from producer.summary import Summary
from shared.errors import Refused, ScrimmageError, Unavailable
from shared.models import Kind, RunRef, RunRequest
from shared.platforms.base import Platform
from shared.pool.ledger import RunState
from shared.pool.pool import Pool

_TICK_SECONDS = 0.1


@dataclass
class Sweep:
    """The state of a sweep while it is played; the live view reads it.

    ``flying`` are runs that are not over, as last read from the ledger (None before the first look), ``done``
    summaries in the order in which runs ended, ``refused`` what the platform said no to.
    """

    total: int
    flying: dict[RunRef, RunState | None] = field(default_factory=dict)
    done: list[Summary] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


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
) -> Sweep:
    """Play the requests (and runs in ``joined`` that are under way already) to their end.

    Args:
        in_flight: at most so many runs that are not over.
        view: called about ten times a second with the sweep's state.

    Raises:
        SettingsError: no live worker can serve a request; nothing was opened for it.
        Unavailable: the platform or Redis did not answer; what was opened stays in the ledger.
    """
    queue = list(requests)
    for request in {request.solver: request for request in queue}.values():
        require_workers(pool, platform, request)
    sweep = Sweep(total=len(queue) + len(joined), flying=dict.fromkeys(joined))
    tick = threading.Event()
    queue.reverse()
    with ThreadPoolExecutor(4, thread_name_prefix="sweep") as threads:
        openings: list[Future[RunRef]] = []
        closings: list[Future[Summary]] = []
        while queue or openings or sweep.flying or closings:
            while queue and len(openings) + len(sweep.flying) < in_flight:
                openings.append(threads.submit(open_run, pool, platform, queue.pop()))
            openings = [future for future in openings if not _opened(future, sweep)]
            for ref in _over(pool, platform, archive, sweep):
                del sweep.flying[ref]
                closings.append(threads.submit(close_run, pool, archive, ref))
            closings = [future for future in closings if not _closed(future, sweep)]
            hand_out(pool)
            view(sweep)
            tick.wait(_TICK_SECONDS)
    view(sweep)
    for name in {row.sweep for row in sweep.done if row.sweep}:
        pool.spend.close_sweep(name)
    return sweep


def _opened(future: Future[RunRef], sweep: Sweep) -> bool:
    if not future.done():
        return False
    try:
        sweep.flying[future.result()] = None
    except Refused as refusal:
        sweep.refused.append(refusal)
    return True


def _over(pool: Pool, platform: Platform, archive: Archive, sweep: Sweep) -> list[RunRef]:
    """Read every flying run anew; those that ended, or that another command has archived meanwhile."""
    over = []
    for ref in sweep.flying:
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


def _closed(future: Future[Summary], sweep: Sweep) -> bool:
    if not future.done():
        return False
    sweep.done.append(future.result())
    return True


def close_run(pool: Pool, archive: Archive, ref: RunRef) -> Summary:
    """Archive a run that is over, unless another command did, and let go of its note.

    The note is read first: of two commands that close one run neither finds run and note gone half-way.
    """
    notebook = Notebook(pool.settings.data)
    note = notebook.of(ref)
    state = pool.ledger.run(ref)
    if state is not None and not state.archived:
        archive.save(pool, ref)
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


def incomplete(sweep: Sweep) -> bool:
    """True where a run ended without all of its tasks submitted, or was refused."""
    return bool(sweep.refused) or any(not summary.complete for summary in sweep.done)
