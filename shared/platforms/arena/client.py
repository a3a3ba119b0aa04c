"""Every endpoint of the Harness Arena, typed (Harness Arena Task API v1, "Endpoints").

One method per endpoint and no decisions: what an unclear answer means is settled in ``platform``. All raise
what ``Http.json`` raises. Ids are quoted, so that none can lead to another endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

from pydantic import JsonValue

from shared.deadline import Deadline
from shared.models import Kind, RunRef, Solution
from shared.platforms.answer import Answer
from shared.platforms.arena.manifests import Manifest, TaskManifest
from shared.platforms.arena.models import (
    Me,
    RunFields,
    Runs,
    RunSummary,
    Submitted,
    ToolAnswer,
    Tools,
)
from shared.platforms.http import Http, segment
from shared.pool.bucket import Lane

PAGES = 50
"""Pages of GET /runs that are read at most."""


class ArenaClient:
    """The API for one team's key.

    Args:
        http: with the base URL that ends in ``/api/v1``.
    """

    def __init__(self, http: Http) -> None:
        self._http = http

    def me(self, deadline: Deadline) -> Answer[Me]:
        return self._http.json("GET", "/me", Me.read, lane=Lane.FINISH, deadline=deadline)

    def tools(self, deadline: Deadline) -> Tools:
        return self._http.json("GET", "/tools", Tools.read, lane=Lane.TOOLS, deadline=deadline).data

    def start(self, kind: Kind, seed: int | None, deadline: Deadline) -> Answer[RunSummary]:
        body: dict[str, JsonValue] = {"kind": kind.value}
        if seed is not None:
            body["seed"] = seed
        return self._http.json(
            "POST", "/runs", RunSummary.read, body=body, lane=Lane.FINISH, deadline=deadline, write=True
        )

    def runs(self, deadline: Deadline) -> Answer[list[RunSummary]]:
        """All runs of the team, over all pages as far as the answers tell of more."""
        found: dict[str, RunSummary] = {}
        params: dict[str, str] = {}
        for page in range(1, PAGES + 1):
            answer = self._http.json(
                "GET", "/runs", Runs.read, params=params, lane=Lane.FINISH, deadline=deadline
            )
            fresh = {run.run_id: run for run in answer.data.runs if run.run_id not in found}
            found.update(fresh)
            params = _next_page(answer.data, page)
            if not params or not fresh:
                break
        return Answer(answer.status, list(found.values()), answer.headers, answer.server_now)

    def run(self, ref: RunRef, deadline: Deadline) -> Answer[RunSummary]:
        return self._http.json(
            "GET", _run(ref), RunSummary.read, lane=Lane.FINISH, deadline=deadline, run=ref
        )

    def call_tool(
        self,
        ref: RunRef,
        task_id: str,
        name: str,
        args: Mapping[str, JsonValue],
        deadline: Deadline,
        *,
        write: bool,
    ) -> ToolAnswer:
        """``write``: the tool changes state; a lost answer raises Unclear and nothing is repeated.

        Such a call goes in the lane of the look before it: behind a heap of others' looks its time would run
        out, and the next try would cost one more look.
        """
        return self._http.json(
            "POST",
            f"{_task(ref, task_id)}/tools/{segment(name)}",
            ToolAnswer.read,
            body=dict(args),
            lane=Lane.FINISH if write else Lane.TOOLS,
            deadline=deadline,
            run=ref,
            write=write,
        ).data

    def file(self, ref: RunRef, task_id: str, path: str, limit: int, deadline: Deadline) -> bytes:
        parts = "/".join(segment(part) for part in path.strip("/").split("/"))
        return self._raw(f"{_task(ref, task_id)}/files/{parts}", ref, limit, deadline)

    def workspace_zip(self, ref: RunRef, task_id: str, limit: int, deadline: Deadline) -> bytes:
        return self._raw(f"{_task(ref, task_id)}/workspace.zip", ref, limit, deadline)

    def blob(self, ref: RunRef, sha256: str, hint: str | None, limit: int, deadline: Deadline) -> bytes:
        """``hint``: a task that lists the hash; None has the whole run searched."""
        path = f"{_run(ref)}/blobs/{segment(sha256)}"
        return self._raw(path, ref, limit, deadline, params={"task": hint} if hint else None)

    def manifest(self, ref: RunRef, deadline: Deadline) -> Manifest:
        path = f"{_run(ref)}/manifest"
        return self._http.json("GET", path, Manifest.read, lane=Lane.FETCH, deadline=deadline, run=ref).data

    def task_manifest(self, ref: RunRef, task_id: str, deadline: Deadline) -> TaskManifest:
        path = f"{_task(ref, task_id)}/manifest"
        return self._http.json(
            "GET", path, TaskManifest.read, lane=Lane.TOOLS, deadline=deadline, run=ref
        ).data

    def submit(self, ref: RunRef, task_id: str, solution: Solution, deadline: Deadline) -> Submitted:
        return self._http.json(
            "POST",
            f"{_task(ref, task_id)}/submit",
            Submitted.read,
            body={
                "outcome": solution.outcome,
                "answer": solution.answer,
                "sources": [source.wire() for source in solution.sources],
            },
            lane=Lane.FINISH,
            deadline=deadline,
            run=ref,
            write=True,
        ).data

    def finish(self, ref: RunRef, deadline: Deadline) -> RunFields:
        """Idempotent by the text, so a lost answer is asked for again."""
        path = f"{_run(ref)}/finish"
        return self._http.json(
            "POST", path, RunFields.read, lane=Lane.FINISH, deadline=deadline, run=ref
        ).data

    def close(self) -> None:
        self._http.close()

    def _raw(
        self, path: str, ref: RunRef, limit: int, deadline: Deadline, params: Mapping[str, str] | None = None
    ) -> bytes:
        return self._http.raw(
            path, lane=Lane.FETCH, deadline=deadline, limit=limit, params=params, run=ref
        ).data


def _run(ref: RunRef) -> str:
    return f"/runs/{segment(ref.run_id)}"


def _task(ref: RunRef, task_id: str) -> str:
    return f"{_run(ref)}/tasks/{segment(task_id)}"


def _next_page(page: Runs, number: int) -> dict[str, str]:
    """Query of the page after this one, empty where nothing tells of one."""
    if page.next:
        with suppress(ValueError):
            return dict(parse_qsl(urlsplit(page.next).query))
    if page.next_cursor:
        return {"cursor": page.next_cursor}
    return {"page": str(number + 1)} if page.has_more else {}
