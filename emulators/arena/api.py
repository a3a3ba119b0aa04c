"""The arena's API: one handler per endpoint of Harness Arena Task API v1, in the text's order.

Every handler runs to its end without waiting, once the body is read and the scenario is in memory: so each
request sees and leaves a whole state, and nothing needs a lock.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from emulators.arena import wire
from emulators.arena.arena import Arena
from emulators.arena.replies import Replies
from emulators.arena.runs import Run
from emulators.arena.scenario import Scenario, effects, scoring
from emulators.arena.teams import Team
from emulators.arena.work import Submission, TaskWork, content_type, pack, run_manifest
from emulators.clock import iso
from shared.errors import Refused, ToolError
from shared.models import Effect

PREFIX = "/api/v1"

_log = logging.getLogger(__name__)

Handler = Callable[[Request, Team], Awaitable[Response]]
S = TypeVar("S")
B = TypeVar("B")


class Api:
    """Handlers over an arena."""

    def __init__(self, arena: Arena, replies: Replies) -> None:
        self._arena = arena
        self._choices = arena.options.choices
        self._replies = replies
        self._runs = arena.runs
        self._views = arena.views

    def routes(self) -> list[Route]:
        """The endpoints, each behind key and rate limit."""
        task = "/runs/{run_id}/tasks/{task_id}"
        table: list[tuple[str, str, Handler]] = [
            ("GET", "/me", self.me),
            ("GET", "/tools", self.tools),
            ("POST", "/runs", self.start),
            ("GET", "/runs", self.list_runs),
            ("GET", "/runs/{run_id}", self.show),
            ("POST", task + "/tools/{tool}", self.call_tool),
            ("GET", task + "/files/{path:path}", self.file),
            ("GET", task + "/workspace.zip", self.workspace_zip),
            ("GET", "/runs/{run_id}/manifest", self.run_manifest),
            ("GET", task + "/manifest", self.task_manifest),
            ("GET", "/runs/{run_id}/blobs/{sha256}", self.blob),
            ("POST", task + "/submit", self.submit),
            ("POST", "/runs/{run_id}/finish", self.finish),
        ]
        return [
            Route(PREFIX + path, self._guarded(handler), methods=[method]) for method, path, handler in table
        ]

    def _guarded(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            team = self._arena.teams.authorised(request.scope)
            page = self._arena.books.account(team.team_id)
            wait = self._arena.limiter.take(team.team_id)
            if wait:
                page.over_limit += 1
                if not self._arena.limiter.lifted:
                    return self._replies.too_many(wait)
            if "run_id" in request.path_params:
                page.count("requests_by_run", request.path_params["run_id"])
            try:
                return await handler(request, team)
            except Refused:
                raise
            except Exception:  # noqa: BLE001 - logged, and the emulator goes on
                # Starlette would answer 500 too, but then it raises on, and the server cuts the connection.
                _log.exception("%s %s failed", request.method, request.url.path)
                return self._replies.error("internal error", 500)

        return endpoint

    async def me(self, _request: Request, team: Team) -> Response:
        opens, closes = self._runs.window
        answer: wire.Me = {
            "team": {"id": team.team_id, "name": team.name},
            "final_window": {
                "open": self._runs.window_open(),
                "opens_at": None if opens is None else iso(opens),
                "closes_at": None if closes is None else iso(closes),
            },
            "final_run_used": team.final_run_id is not None,
        }
        return self._replies.json(answer)

    async def tools(self, _request: Request, _team: Team) -> Response:
        return self._replies.json(self._arena.toolbox.describe())

    async def start(self, request: Request, team: Team) -> Response:
        body = wire.parse_body(wire.RunBody, self._data(await read_body(request)))
        run = await self._runs.start(team, body.kind, body.seed)
        return self._replies.json(self._views.started(run), self._choices.create_status)

    async def list_runs(self, request: Request, team: Team) -> Response:
        runs = self._runs.of(team)
        if self._choices.runs_order == "newest":
            runs.reverse()
        answer: wire.Runs = {"runs": []}
        if page := self._choices.runs_page:
            text = request.query_params.get("cursor", "0")
            if not (text.isascii() and text.isdigit() and len(text) < 10):
                raise Refused("cursor: not one that was given out", status=400)
            start = int(text)
            answer["next_cursor"] = str(start + page) if start + page < len(runs) else None
            runs = runs[start : start + page]
        answer["runs"] = [self._views.summary(run) for run in runs]
        return self._replies.json(answer)

    async def show(self, request: Request, team: Team) -> Response:
        return self._replies.json(self._views.detail(self._run(request, team)))

    async def call_tool(self, request: Request, team: Team) -> Response:
        body = await read_body(request)
        scenario = await self._scenario(request, team)
        (run, work), args = self._in_order(
            lambda: self._open_task(request, team), lambda: wire.parse_object(self._data(body))
        )
        assert scenario is not None
        name = request.path_params["tool"]
        page = self._arena.books.account(team.team_id)
        task = f"{run.run_id}/{work.task.task_id}"
        page.count("tool_calls", task)
        try:
            result = self._arena.toolbox.call(work, scenario, name, args)
        except ToolError as error:
            work.tool_calls += self._choices.failed_calls_count
            failed: wire.ToolFailed = {"ok": False, "error": str(error)}
            return self._replies.json(failed)
        work.tool_calls += 1
        if name in effects.EFFECT_TOOLS:
            page.count("effects", task)
            if Effect(tool=name, args=args) in work.state.done[:-1]:
                page.count("duplicate_effects", task)
        answer: wire.ToolOk = {"ok": True, "result": result}
        return self._replies.json(answer)

    async def file(self, request: Request, team: Team) -> Response:
        scenario = await self._scenario(request, team)
        work = self._running(request, team).work(request.path_params["task_id"])
        assert scenario is not None
        path = "/" + request.path_params["path"].lstrip("/")
        sha256 = work.files.get(path)
        if sha256 is None:
            raise Refused(f"no such file: {path[:200]}", status=404)
        self._arena.books.account(team.team_id).count("files", f"{request.path_params['run_id']}{path}")
        return self._replies.file(work.bytes_of(sha256, scenario), content_type(path))

    async def workspace_zip(self, request: Request, team: Team) -> Response:
        scenario = await self._scenario(request, team)
        run = self._running(request, team)
        work = run.work(request.path_params["task_id"])
        assert scenario is not None
        self._arena.books.account(team.team_id).count("zips", f"{run.run_id}/{work.task.task_id}")
        packed = await asyncio.to_thread(pack, work.contents(scenario))
        return self._replies.file(packed, "application/zip")

    async def run_manifest(self, request: Request, team: Team) -> Response:
        scenario = await self._scenario(request, team)
        self._listing(request, team)
        assert scenario is not None
        return self._replies.json(run_manifest(scenario))

    async def task_manifest(self, request: Request, team: Team) -> Response:
        scenario = await self._scenario(request, team)
        work = self._listing(request, team).work(request.path_params["task_id"])
        assert scenario is not None
        return self._replies.json(work.manifest(scenario))

    async def blob(self, request: Request, team: Team) -> Response:
        scenario = await self._scenario(request, team)
        run = self._running(request, team)
        assert scenario is not None
        sha256 = request.path_params["sha256"]
        hint = request.query_params.get("task")
        for work in self._searched(run, hint):
            path = work.path_of(sha256)
            if path is not None:
                self._arena.books.account(team.team_id).count("blobs", sha256)
                data = work.bytes_of(sha256, scenario)
                return self._replies.file(data, content_type(path), immutable=True)
        raise Refused("no such blob in this run", status=404)

    def _searched(self, run: Run, hint: str | None) -> list[TaskWork]:
        """The tasks in which a blob is looked for, the hinted one first."""
        hinted = [run.works[hint]] if hint in run.works else []
        if hint is not None and self._choices.wrong_hint == "refused":
            return hinted
        return [*hinted, *run.works.values()]

    async def submit(self, request: Request, team: Team) -> Response:
        body = await read_body(request)
        page = self._arena.books.account(team.team_id)
        task = f"{request.path_params['run_id']}/{request.path_params['task_id']}"
        try:
            (run, work), given = self._in_order(
                lambda: self._open_task(request, team),
                lambda: wire.parse_body(wire.SubmitBody, self._data(body)),
            )
        except Refused as refused:
            if refused.status == 409:
                page.count("duplicate_submits", task)
            raise
        page.count("submits", task)
        sources = [source.source() for source in given.sources]
        grade = scoring.grade(work.task, given.outcome, given.answer, sources, work.state.done)
        effort = f"Effort: {work.tool_calls} tool call{'' if work.tool_calls == 1 else 's'}"
        work.submission = Submission(
            outcome=given.outcome,
            answer=given.answer,
            sources=[source.wire() for source in sources],
            grade=grade.model_copy(update={"feedback": (*grade.feedback, effort)}),
        )
        return self._replies.json(self._views.submitted(run, work.task.task_id))

    async def finish(self, request: Request, team: Team) -> Response:
        run = self._run(request, team)
        self._runs.finish(run)
        return self._replies.json(self._views.finished(run))

    def _run(self, request: Request, team: Team) -> Run:
        return self._runs.get(team, request.path_params["run_id"])

    def _running(self, request: Request, team: Team) -> Run:
        """The run, where it is active. Raises Refused: 404, 409."""
        run = self._run(request, team)
        run.demand_active()
        return run

    def _listing(self, request: Request, team: Team) -> Run:
        """The run, where its manifests may be read."""
        return (self._run if self._choices.manifests_after_end else self._running)(request, team)

    def _open_task(self, request: Request, team: Team) -> tuple[Run, TaskWork]:
        """The run and the task, where the task can still be worked on. Raises Refused: 404, 409."""
        run = self._run(request, team)
        work = run.work(request.path_params["task_id"])
        run.demand_active()
        if work.submission is not None:
            raise Refused(f"task {work.task.task_id} was already submitted", status=409)
        return run, work

    async def _scenario(self, request: Request, team: Team) -> Scenario | None:
        """The run's scenario, None where the run has ended and nothing will be read."""
        run = self._run(request, team)
        if not run.active and not self._choices.manifests_after_end:
            return None
        return await self._runs.scenario(run)

    def _in_order(self, state: Callable[[], S], body: Callable[[], B]) -> tuple[S, B]:
        """Check state and body in the chosen order."""
        if self._choices.check_order == "body":
            parsed = body()
            return state(), parsed
        return state(), body()

    def _data(self, body: bytes) -> object:
        if not body.strip() and self._choices.empty_body == "object":
            return {}
        return wire.parse_json(body)


async def read_body(request: Request) -> bytes:
    """A request's body, whatever its Content-Type (curl -d says it is a form).

    Raises:
        Refused: 413, it is too large.
    """
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > wire.MOST_BODY_BYTES:
                raise Refused(f"body: larger than {wire.MOST_BODY_BYTES} bytes", status=413)
            parts.append(part)
    except ClientDisconnect:
        raise Refused("the client went away", status=400) from None
    return b"".join(parts)
