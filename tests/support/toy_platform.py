"""A platform that looks like no real one: ordinals with gaps, no files, one batch of answers for a whole run.

It plays through producer, workers and finalizer without a line of them knowing it. Its state lives in the
test's Redis under ``toy:``, so that every process of a pool sees the same platform. Registered with
``SCRIMMAGE_PLATFORMS=toy=tests.support.toy_platform:ToyPlatform``.

The run's options say what it is like: ``tasks`` (how many), ``seconds`` (a deadline). It has one tool that
reads (``peek``) and one that changes state (``push``, argument ``item``): an item called ``refused`` is
refused each time, one called ``lost`` is taken but its first answer is lost, one called ``dropped`` is lost
on its first way in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Self

import redis
from pydantic import JsonValue

from shared.deadline import Deadline
from shared.errors import Conflict, NotFound, Unclear
from shared.models import (
    JsonObject,
    Limits,
    Receipt,
    Run,
    RunRef,
    RunRequest,
    RunView,
    Scorecard,
    Solution,
    Task,
    TaskView,
    ToolResult,
)
from shared.platforms.base import Prepared
from shared.pool.pool import Pool
from shared.settings import Settings

SETTING = "toy=tests.support.toy_platform:ToyPlatform"


class ToyPlatform:
    """See the module. The answer to the task with ordinal n is 2n."""

    name = "toy"
    limits = Limits(rate=1000.0, burst=1000)
    read_only: frozenset[str] = frozenset()

    def __init__(self, client: redis.Redis) -> None:
        self._redis = client

    @classmethod
    def create(cls, settings: Settings, pool: Pool) -> Self:
        assert settings.redis_url is not None
        return cls(redis.Redis.from_url(settings.redis_url, decode_responses=True))

    def account(self) -> str:
        return "toy"

    def prepare(self, request: RunRequest) -> Prepared:
        return Prepared()

    def open(self, request: RunRequest, prepared: Prepared, request_id: str) -> Run:
        run_id = f"toy-{request_id.removeprefix('req-')[:12]}"
        ordinals = [
            3 * number + number % 2 + 4 for number in range(int(str(request.options.get("tasks", 6))))
        ]
        seconds = request.options.get("seconds")
        run = Run(
            platform=self.name,
            run_id=run_id,
            kind=request.kind,
            seconds_left=None if seconds is None else float(str(seconds)),
            tasks=tuple(
                Task(run_id=run_id, task_id=str(ordinal), instruction=f"double {ordinal}")
                for ordinal in ordinals
            ),
        )
        self._redis.hset("toy:runs", run_id, run.model_dump_json())
        return run

    def adopt(self, request: RunRequest, request_id: str, since: float) -> Run | None:
        stored = self._redis.hget("toy:runs", f"toy-{request_id.removeprefix('req-')[:12]}")
        return Run.model_validate_json(str(stored)) if stored else None

    def files(self, run: Run, task: Task) -> None:
        return None

    def tools(self, run: Run) -> Mapping[str, JsonObject]:
        return {"peek": {"description": "what was pushed"}, "push": {"description": "push", "effect": True}}

    def call_tool(
        self, run: Run, task: Task, name: str, args: Mapping[str, JsonValue], deadline: Deadline
    ) -> ToolResult:
        deadline.check(f"calling {name}")
        key = f"toy:{run.run_id}:{task.task_id}"
        item = str(args.get("item"))
        first = name == "push" and self._redis.hincrby(f"{key}:tries", item, 1) == 1
        if item == "dropped" and first:
            raise Unclear(f"{name}: no answer")
        self._redis.hincrby(f"toy:{run.run_id}:calls", task.task_id, 1)
        if name == "peek":
            return ToolResult(ok=True, result=self._redis.lrange(key, 0, -1))
        if item == "refused":
            return ToolResult(ok=False, error="this item is refused")
        self._redis.rpush(key, item)
        if item == "lost" and first:
            raise Unclear(f"{name}: no answer")
        return ToolResult(ok=True, result={"pushed": item})

    def pushed(self, run: Run, task_id: str) -> list[str]:
        """What the platform took for a task, for tests."""
        return list(self._redis.lrange(f"toy:{run.run_id}:{task_id}", 0, -1))

    def look(self, run: Run, deadline: Deadline) -> RunView:
        calls = self._redis.hgetall(f"toy:{run.run_id}:calls")
        taken = self._redis.hgetall(f"toy:{run.run_id}:answers")
        return RunView(
            status="finished" if self._redis.exists(f"toy:{run.run_id}:closed") else "active",
            tasks={
                task.task_id: TaskView(
                    submitted=task.task_id in taken, tool_calls=int(calls.get(task.task_id, 0))
                )
                for task in run.tasks
            },
        )

    def submit(self, run: Run, solutions: Mapping[str, Solution], deadline: Deadline) -> Iterator[Receipt]:
        if not self._redis.hexists("toy:runs", run.run_id):
            raise NotFound("no such run", status=404)
        if self._redis.exists(f"toy:{run.run_id}:closed"):
            raise Conflict("the run is closed", status=409)
        batch = {task_id: json.dumps(solution.answer) for task_id, solution in solutions.items()}
        self._redis.rpush(f"toy:{run.run_id}:batches", json.dumps(sorted(batch)))
        self._redis.hset(f"toy:{run.run_id}:answers", mapping=batch)
        for task_id in batch:
            yield Receipt(task_id=task_id)

    def batches(self, run: Run) -> list[list[str]]:
        """Task ids of every batch that came in, for tests."""
        return [json.loads(batch) for batch in self._redis.lrange(f"toy:{run.run_id}:batches", 0, -1)]

    def finish(self, run: Run, deadline: Deadline) -> Scorecard:
        self._redis.set(f"toy:{run.run_id}:closed", 1)
        return self.refresh(run, deadline)

    def refresh(self, run: Run, deadline: Deadline) -> Scorecard:
        answers = self._redis.hgetall(f"toy:{run.run_id}:answers")
        right = sum(json.loads(answer) == 2 * int(ordinal) for ordinal, answer in answers.items())
        return Scorecard(
            status="finished",
            accuracy=right / len(run.tasks) if run.tasks else None,
            tasks_submitted=len(answers),
            tasks_total=len(run.tasks),
        )

    def runs(self, deadline: Deadline) -> list[JsonObject]:
        return [{"run_id": run_id} for run_id in self._redis.hkeys("toy:runs")]

    def close(self) -> None:
        self._redis.close()

    def recall(self, ref: RunRef, deadline: Deadline) -> tuple[Run, RunView]:
        stored = self._redis.hget("toy:runs", ref.run_id)
        if not stored:
            raise NotFound("no such run", status=404)
        run = Run.model_validate_json(str(stored))
        return run, self.look(run, deadline)
