"""Submits solutions, each task once, several at a time.

A round posts everything that is left. Answers that do not settle a task (409, a lost answer, 404) are settled
together, by one look at the run: shown as submitted, it is; a run that is over takes nothing more; what is
open still goes into the next round. Posting again is safe there, since the platform takes one submission per
task (Harness Arena Task API v1, "Submitting").
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from shared.deadline import Deadline
from shared.errors import Conflict, NotAuthorised, NotFound, Refused, ScrimmageError, Unclear, UsageError
from shared.models import Receipt, RunRef, Solution, TaskView
from shared.platforms.arena.client import ArenaClient

AT_ONCE = 8
"""Submits in flight: enough to use the whole rate at 0.4 s per answer."""

ROUNDS = 5
WAIT = 0.5
"""Seconds before the second round; one more such wait before each later one."""


@dataclass(frozen=True)
class Submitter:
    """Submits the solutions of one account's runs.

    Args:
        sleep: waits so many seconds.
    """

    client: ArenaClient
    sleep: Callable[[float], None] = time.sleep

    def submit(self, ref: RunRef, solutions: Mapping[str, Solution], deadline: Deadline) -> Iterator[Receipt]:
        """One receipt per task, as each is known.

        Raises:
            Unclear: after all rounds the fate of a task is still open.
            Unavailable, DeadlinePassed, NotAuthorised: the rest could not be submitted.
        """
        left = dict(solutions)
        for number in range(ROUNDS):
            if number:
                self.sleep(min(WAIT * number, deadline.left()))
            unsettled: dict[str, ScrimmageError] = {}
            failures: list[ScrimmageError] = []
            for task_id, outcome in self._post_all(ref, left, deadline):
                if isinstance(outcome, Receipt):
                    del left[task_id]
                    yield outcome
                elif isinstance(outcome, Conflict | NotFound | Unclear):
                    unsettled[task_id] = outcome
                else:
                    failures.append(outcome)
            if unsettled:
                view = self.client.run(ref, deadline).data
                tasks = {task.task_id: task.view() for task in view.tasks}
                for task_id, error in unsettled.items():
                    receipt = _settled(task_id, tasks, over=view.over, status=view.status)
                    if receipt is None and isinstance(error, Conflict) and number == ROUNDS - 1:
                        receipt = Receipt(task_id=task_id, accepted=False, reason=str(error))
                    if receipt is not None:
                        del left[task_id]
                        yield receipt
            if failures:
                raise failures[0]
            if not left:
                return
        raise Unclear(f"arena: submitted without a clear answer: {', '.join(sorted(left))}")

    def _post_all(
        self, ref: RunRef, solutions: Mapping[str, Solution], deadline: Deadline
    ) -> Iterator[tuple[str, Receipt | ScrimmageError]]:
        """Post all; each task's receipt, or the error that came instead, as it comes."""
        threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="submit")
        try:
            posts = {
                threads.submit(self._post, ref, task_id, solution, deadline): task_id
                for task_id, solution in solutions.items()
            }
            for post in as_completed(posts):
                yield posts[post], post.result()
        finally:
            threads.shutdown(cancel_futures=True)

    def _post(
        self, ref: RunRef, task_id: str, solution: Solution, deadline: Deadline
    ) -> Receipt | ScrimmageError:
        try:
            return Receipt(
                task_id=task_id, grade=self.client.submit(ref, task_id, solution, deadline).grade()
            )
        except (Conflict, NotFound, NotAuthorised) as error:
            return error
        except (Refused, UsageError) as error:  # the solution itself: no repeating helps
            return Receipt(task_id=task_id, accepted=False, reason=str(error))
        except ScrimmageError as error:
            return error


def _settled(
    task_id: str, tasks: Mapping[str, TaskView], *, over: bool, status: str | None
) -> Receipt | None:
    """What the platform shows of a task whose post had no clear answer; None where it may be posted again."""
    seen = tasks.get(task_id)
    if seen is not None and seen.submitted:
        return Receipt(task_id=task_id, grade=seen.grade)
    if over:
        return Receipt(task_id=task_id, accepted=False, reason=f"the run is {status or 'over'}")
    if seen is None and tasks:
        return Receipt(task_id=task_id, accepted=False, reason="the platform shows no such task in this run")
    return None
