"""Solvers for the arena in tests: one answers nothing, one declares each effect once, one tells keys."""

from __future__ import annotations

import logging
import os
import sys

from shared.errors import Refused
from workers.api import Effect, Solution, Task, TaskContext
from workers.model.messages import user


class Empty:
    """Submits an empty answer at once, without looking at a file."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        return Solution(answer=None)


class Careful:
    """Reads the workspace of every task and writes one draft in every third."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        assert context.workspace is not None
        paths = context.workspace.paths()
        number = int("".join(filter(str.isdigit, task.task_id)) or "0")
        draft = Effect(tool="write", args={"path": f"/drafts/{task.task_id}.md", "content": str(len(paths))})
        return Solution(answer=len(paths), effects=(draft,) if number % 3 == 0 else ())


class Indiscreet:
    """Tells the keys of its environment wherever a solver can tell anything."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        keys = " ".join(os.environ[f"SCRIMMAGE_{name}"] for name in ("ARENA_KEY", "MODEL_KEY", "REDIS_URL"))
        context.log(f"with {keys}", keys=keys)
        print(f"printed {keys}")
        print(f"printed {keys}", file=sys.stderr)
        logging.getLogger("indiscreet").warning("logged %s", keys)
        if task.task_id == "t01":
            raise ValueError(f"raised {keys}")
        if task.task_id == "t02":
            return Solution(answer=f"answered {keys}")
        assert context.model is not None
        try:
            context.model.chat([user("hello")])
        except Refused as error:
            context.log("no model", why=str(error))
        return Solution(effects=(Effect(tool="write", args={"path": "/drafts/a.md", "content": "a"}),))


class Reading:
    """Reads every document; answers with the paths of those that cannot be read, and why."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        assert context.workspace is not None
        documents = {path: context.workspace.document(path) for path in context.workspace.paths()}
        return Solution(answer={path: read.unreadable for path, read in documents.items() if read.unreadable})
