"""Open one run, or rejoin one that was begun.

The request is written into the ledger before the platform is asked (``opening``), so that whoever comes
after a crash knows that a run may exist; and into the notebook, should the ledger itself be lost. Tasks are
stored and the first jobs sent by one ledger step and ``dispatch``; the rest is the workers' part.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from producer.notebook import Note, Notebook
from shared.deadline import Deadline
from shared.errors import NotFound, Refused, SettingsError, Unavailable, Unclear
from shared.models import Receipt, Run, RunRef, RunRequest, RunView
from shared.platforms.base import Platform
from shared.pool import timing
from shared.pool.dispatch import send_round
from shared.pool.ledger import Opening
from shared.pool.pool import Pool

RECALL_SECONDS = 60.0
"""Seconds that finding a run again may take."""

AGAIN_SECONDS = 10.0
"""From one look at a platform that is away to the next."""


def open_run(
    pool: Pool,
    platform: Platform,
    request: RunRequest,
    *,
    patience: Deadline | None = None,
    trouble: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
) -> RunRef:
    """Open a run on the platform and hand it to the workers.

    Args:
        patience: until then a platform that is away is asked again, and what is unclear settled; None: once.
        trouble: is told what is being waited for.
        sleep: waits so many seconds; tests inject their own.

    Raises:
        Refused: the platform said no; the opening is closed as ``rejected``.
        Unclear: a run may exist; the opening stays, `resume` settles it.
        Unavailable: the platform did not answer and has opened nothing; the opening is closed.
        SettingsError: the request cannot be noted in the data folder; nothing was sent.
    """
    request_id = pool.ledger.request(request)
    attempt = partial(begin, pool, platform, request, request_id)
    while True:
        try:
            return attempt()
        except Unavailable as error:
            if patience is None or patience.passed:
                raise
            trouble(str(error))
        sleep(AGAIN_SECONDS)
        if held := [opening for opening in pool.ledger.openings() if opening.request_id == request_id]:
            attempt = partial(settle, pool, platform, held[0])
        else:
            request_id = pool.ledger.request(request)
            attempt = partial(begin, pool, platform, request, request_id)


def begin(
    pool: Pool,
    platform: Platform,
    request: RunRequest,
    request_id: str,
    facts: Mapping[str, str] | None = None,
) -> RunRef:
    """Open the run of a request that the ledger holds already. Raises what ``open_run`` raises."""
    notebook = Notebook(pool.settings.data)
    note = Note(request_id=request_id, request=request, at=pool.redis.now(), facts=facts or {})
    try:
        notebook.write(note)
        run = platform.open(request, platform.prepare(request), request_id)
    except Unclear:
        raise
    except (Refused, SettingsError, Unavailable) as error:
        pool.ledger.reject(request_id, str(error))
        notebook.forget(request_id)
        raise
    notebook.write(note.model_copy(update={"ref": run.ref}))
    _enter(pool, run, request_id, request)
    return run.ref


def settle(pool: Pool, platform: Platform, opening: Opening) -> RunRef:
    """Go on with an opening that somebody left behind: adopt the run that it opened, else open one."""
    run = platform.adopt(opening.request, opening.request_id, opening.at)
    if run is None:
        return begin(pool, platform, opening.request, opening.request_id)
    note = Note(request_id=opening.request_id, request=opening.request, at=opening.at, ref=run.ref)
    Notebook(pool.settings.data).write(note)
    _enter(pool, run, opening.request_id, opening.request)
    return run.ref


def rebuild(pool: Pool, platform: Platform, note: Note) -> RunRef | None:
    """Bring a run that the ledger lost back into it, as the platform shows it now.

    What is submitted stays submitted. The journal of effects is gone, so a task for which the platform shows
    tool calls gets no further effects (``workers.effects``). A run that is over meanwhile is only closed.

    Returns:
        None where the platform has no run of this request: nothing was lost with it.

    Raises:
        Unavailable: the platform or Redis does not answer.
    """
    deadline = Deadline.after(RECALL_SECONDS)
    notebook = Notebook(pool.settings.data)
    ref = note.ref
    if ref is None:
        found = platform.adopt(note.request, note.request_id, note.at)
        ref = None if found is None else found.ref
    try:
        recalled = None if ref is None else platform.recall(ref, deadline)
    except NotFound:
        recalled = None
    if recalled is None:
        notebook.forget(note.request_id)
        return None
    run, view = recalled
    notebook.write(note.model_copy(update={"ref": run.ref}))
    _enter(pool, run, note.request_id, note.request, view)
    if view.scorecard is not None:
        pool.jobs.finish(run.ref, pool.ledger.close(run.ref))
    return run.ref


def hand_out(pool: Pool) -> None:
    """Send a first round of jobs now. Should the broker be away, whoever tends sends them later."""
    try:
        send_round(pool.ledger, pool.jobs, pool.fleet)
    except Unavailable:
        return


def _enter(pool: Pool, run: Run, request_id: str, request: RunRequest, view: RunView | None = None) -> None:
    """Store an open run, with what the platform shows of it already, and send its first jobs."""
    shown = {} if view is None else view.tasks
    if pool.ledger.run(run.ref) is None:  # whatever was called, no journal here knows of it
        pool.journal.lose(run.ref, [name for name, task in shown.items() if task.tool_calls])
    pool.ledger.opened(
        request_id,
        run,
        request,
        submitted={
            name: Receipt(task_id=name, grade=task.grade) for name, task in shown.items() if task.submitted
        },
        ranks=timing.ranked(run.tasks),
        slack=timing.slack(run.seconds_left),
    )
    hand_out(pool)
