"""Open one run, or rejoin one that was begun.

The request is written into the ledger before the platform is asked (``opening``), so that whoever comes
after a crash knows that a run may exist. Tasks are stored and the first jobs sent by one ledger step and
``dispatch``; everything after that is the workers' part.
"""

from __future__ import annotations

from shared.errors import Refused, Unavailable, Unclear
from shared.models import RunRef, RunRequest
from shared.platforms.base import Platform
from shared.pool.dispatch import send_round
from shared.pool.ledger import Opening
from shared.pool.pool import Pool


def open_run(pool: Pool, platform: Platform, request: RunRequest) -> RunRef:
    """Open a run on the platform and hand it to the workers.

    Raises:
        Refused: the platform said no; the opening is closed as ``rejected``.
        Unclear: a run may exist; the opening stays, `resume` settles it.
        Unavailable: the platform did not answer and has opened nothing; the opening is closed.
    """
    request_id = pool.ledger.request(request)
    return _open(pool, platform, request, request_id)


def settle(pool: Pool, platform: Platform, opening: Opening) -> RunRef:
    """Go on with an opening that somebody left behind: adopt the run that it opened, else open one."""
    run = platform.adopt(opening.request, opening.request_id, opening.at)
    if run is None:
        return _open(pool, platform, opening.request, opening.request_id)
    pool.ledger.opened(opening.request_id, run, opening.request)
    hand_out(pool)
    return run.ref


def _open(pool: Pool, platform: Platform, request: RunRequest, request_id: str) -> RunRef:
    try:
        prepared = platform.prepare(request)
        run = platform.open(request, prepared, request_id)
    except Unclear:
        raise
    except (Refused, Unavailable) as error:
        pool.ledger.reject(request_id, str(error))
        raise
    pool.ledger.opened(request_id, run, request)
    hand_out(pool)
    return run.ref


def hand_out(pool: Pool) -> None:
    """Send a first round of jobs now. Should the broker be away, whoever tends sends them later."""
    try:
        send_round(pool.ledger, pool.jobs, pool.fleet)
    except Unavailable:
        return
