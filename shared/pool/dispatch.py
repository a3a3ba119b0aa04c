"""Dispatch: sends jobs in rounds, so that the broker's queue stays short and every run gets its turn.

A queue that held all tasks of a large sweep would make a run that starts later wait for its end. So at most
two jobs per slot of the fleet wait in the broker; the rest waits in the ledger. Producer and tender both
send rounds; the ledger gives each task to one of them.
"""

from __future__ import annotations

import contextlib
import random

from shared.errors import Unavailable
from shared.models import Kind, RunStatus, TaskStatus
from shared.pool.fleet import Fleet
from shared.pool.jobs import QUEUE_SOLVE, Jobs
from shared.pool.ledger import Ledger, RunState

_LEAST_WAITING = 16


def send_round(ledger: Ledger, jobs: Jobs, fleet: Fleet, *, chance: random.Random | None = None) -> int:
    """Send what may be sent now; returns the number of jobs.

    A final run's tasks are all sent at once, to their own queue. Of the others, whichever has the fewest jobs
    out (sent or leased) gives the next one, until the queue holds two jobs per slot (at least 16); so a run
    that starts late catches up at once. Between equals it is drawn by lot.

    Args:
        chance: draws the lots; tests inject their own.

    Raises:
        Unavailable: Redis or the broker does not answer. A task whose job was not taken is unsent again.
    """
    solving = ledger.runs(RunStatus.SOLVING)
    sent = 0
    for state in solving:
        if state.request.kind is Kind.FINAL:
            sent += _send(ledger, jobs, state, state.tasks_total)
    turn = [state for state in solving if state.request.kind is not Kind.FINAL]
    if not turn:
        return sent
    (chance or random.Random()).shuffle(turn)  # noqa: S311 - fairness, no secret
    out = ledger.sent_of()
    for state in turn:
        out[state.ref] += state.counts.get(TaskStatus.LEASED, 0)
    slots = sum(worker.slots for worker in fleet.live() if worker.solves)
    room = max(_LEAST_WAITING, 2 * slots) - jobs.waiting(QUEUE_SOLVE)
    while turn and room > 0:
        state = min(turn, key=lambda state: out[state.ref])
        if not _send(ledger, jobs, state, 1):
            turn.remove(state)
            continue
        out[state.ref] += 1
        room -= 1
        sent += 1
    return sent


def _send(ledger: Ledger, jobs: Jobs, state: RunState, most: int) -> int:
    taken = ledger.take_unsent(state.ref, most)
    for number, task_id in enumerate(taken):
        try:
            jobs.solve(state.ref, task_id, state.request.solver, state.request.kind)
        except Unavailable:
            for unsent in taken[number:]:
                with contextlib.suppress(Unavailable):  # else `tend` finds it when it is old
                    ledger.resend(state.ref, unsent)
            raise
    return len(taken)
