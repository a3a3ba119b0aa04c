"""From a request to an open run: written down first, claimed once, opened once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from shared.models import Receipt, Run, RunRef, RunRequest
from shared.pool import keys, timing
from shared.pool.ledger.scripts import Scripts, brief, micros
from shared.pool.ledger.states import Opening, Rejection


class Openings(Scripts):
    """opening → solving, or rejected."""

    def request(self, request: RunRequest) -> str:
        """Write a request down, before anything is sent to the platform. Returns its new id."""
        request_id = f"req-{uuid.uuid4().hex}"
        self._call("request", [keys.OPENINGS], request_id, request.model_dump_json())
        return request_id

    def request_final(self, request: RunRequest) -> tuple[str, bool]:
        """Write a final run's request down, unless one of its platform is under way: of two starts one wins.

        Returns:
            The id of the request that has the final run, and whether it is this one.
        """
        request_id = f"req-{uuid.uuid4().hex}"
        names = [keys.OPENINGS, keys.RUNS, keys.RUN_PREFIX]
        holder = str(
            self._call("request_final", names, request.platform, request_id, request.model_dump_json())
        )
        return holder, holder == request_id

    def openings(self) -> list[Opening]:
        """Requests whose run is not open yet, oldest first; those of a dead producer are among them."""
        stored: Any = self._patient.do(lambda client: client.hgetall(keys.OPENINGS))
        found = []
        for request_id, value in stored.items():
            at, _, request = value.partition(" ")
            found.append(Opening(request_id, RunRequest.model_validate_json(request), int(at) / 1e6))
        return sorted(found, key=lambda opening: opening.at)

    def claim(self, ref: RunRef, request_id: str) -> bool:
        """True if the run belongs to this request, now or already; False if to another."""
        return bool(self._call("claim", [keys.CLAIMS], str(ref), request_id))

    def opened(
        self,
        request_id: str,
        run: Run,
        request: RunRequest,
        *,
        submitted: Mapping[str, Receipt] | None = None,
        ranks: Sequence[str] | None = None,
        slack: float = 0.0,
    ) -> bool:
        """Create the run and its tasks; they are taken in the order of ``ranks``, else as ``run`` names them.

        The deadline is ``run.seconds_left`` from now on Redis's clock, else the request's budget. The opening
        need not exist any more: the late answer of a request that was given up still brings its run.

        Args:
            submitted: receipts of tasks that the platform shows as submitted already (a run found again).
            ranks: ids of all tasks.
            slack: seconds before the deadline that are kept for the end, beside those for submissions; 0 for
                a run that has no deadline on its platform.

        Returns:
            True if the run belongs to this request, now or already; False if to another: leave it alone.
        """
        seconds = request.budget_seconds if run.seconds_left is None else max(0.0, run.seconds_left)
        receipts = {} if submitted is None else submitted
        tasks: list[str] = []
        rank = {task_id: str(at) for at, task_id in enumerate(ranks or [task.task_id for task in run.tasks])}
        for task in run.tasks:
            receipt = receipts.get(task.task_id)
            tasks += [task.task_id, receipt.model_dump_json() if receipt else "", rank[task.task_id]]
        return bool(
            self._on_run(
                "opened",
                run.ref,
                request_id,
                request.model_dump_json(),
                run.model_dump_json(),
                run.kind,
                request.sweep or "",
                micros(seconds),
                micros(request.task_seconds),
                request.attempts,
                micros(slack),
                micros(timing.ASSUMED_SUBMIT),
                *tasks,
            )
        )

    def reject(self, request_id: str, reason: str) -> None:
        """The platform refused the request, or it was given up before anything was sent."""
        names = [keys.OPENINGS, keys.REJECTIONS, keys.CLAIMS]
        self._call("reject", names, request_id, brief(reason))

    def rejections(self) -> list[Rejection]:
        """The last fifty refused requests, newest first."""
        stored: Any = self._patient.do(lambda client: client.lrange(keys.REJECTIONS, 0, -1))
        found = []
        for value in stored:
            request_id, request, reason, at = json.loads(value)
            request = RunRequest.model_validate_json(request)
            found.append(Rejection(request_id, request, reason, int(at) / 1e6))
        return found
