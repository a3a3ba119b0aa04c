"""Solvers that behave, and solvers that do not. Registered with ``SCRIMMAGE_SOLVERS`` as in ``SETTING``.

What a solver does may be told by the run's tasks: the instruction of a toy task is ``double N``.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
from pathlib import Path
from typing import ClassVar

from workers.api import ComeBack, Effect, Solution, Task, TaskContext, ToolError

NAMES = (
    "doubling", "patient", "raising", "rubbish", "nothing", "exiting", "endless", "huge", "leaking", "silent",
    "pushing", "calling", "wrapping", "meddling", "killing", "slow", "late", "hasty", "strange",
    "hoarding", "gated",
)  # fmt: skip
SETTING = ",".join(f"{name}=tests.support.toy_solvers:{name.capitalize()}" for name in NAMES)


class Doubling:
    """Answers at once."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        context.log("doubling", task=task.task_id)
        return Solution(answer=2 * int(task.task_id))


class Patient:
    """Waits twice without holding a slot, then answers."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        times = int(str(context.state.get("times", 0)))
        if times < 2:
            raise ComeBack(after=0.2, state={"times": times + 1})
        return Solution(answer=2 * int(task.task_id))


class Raising:
    """Raises on one task, answers the others."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        if task.task_id == "4":
            raise KeyError("no such thing")
        return Solution(answer=2 * int(task.task_id))


class Rubbish:
    """Returns what is no Solution."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        return {"answer": 1}  # type: ignore[return-value]


class Nothing:
    """Returns nothing."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        return None  # type: ignore[return-value]


class Exiting:
    """Tries to end the process."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        sys.exit(3)


class Endless:
    """Answers with a number that JSON does not have."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        return Solution(answer=math.nan)


class Huge:
    """Answers with more than can be stored."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        return Solution(answer="x" * 2**21)


class Leaking:
    """Raises with a key in its message."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        context.log("about to fail", key="MARKED-KEY-1")
        raise ValueError("no luck with MARKED-KEY-1")


class Calling:
    """Calls a tool of the platform that only reads."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        return Solution(answer=context.tools.call("peek"))


class Wrapping:
    """Turns every error into one of its own."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        try:
            return Solution(answer=context.tools.call("peek"))
        except Exception as error:
            raise RuntimeError("the tool does not work") from error


class Meddling:
    """Calls a tool that changes state."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        try:
            return Solution(answer=context.tools.call("push", item="one"))
        except ToolError as error:
            return Solution(answer=str(error))


class Silent:
    """Never returns."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        threading.Event().wait()
        raise AssertionError("unreachable")


class Pushing:
    """Declares effects; when one was refused it says so in its answer and adds another."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        if context.effects:
            failed = [result.effect.args["item"] for result in context.effects if result.ok is False]
            return Solution(answer=failed, effects=(_push("one"), _push("instead")))
        items = {"4": ("one", "two"), "8": ("one", "refused"), "10": ("lost",), "14": ("dropped", "two")}
        return Solution(answer="pushed", effects=tuple(map(_push, items.get(task.task_id, ()))))


class Killing:
    """Kills its own process, as often as the file named by TOY_KILLS has bytes left; then answers."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        path = Path(os.environ["TOY_KILLS"])
        left = path.read_bytes()
        if task.task_id == "4" and left:
            path.write_bytes(left[1:])
            os.kill(os.getpid(), signal.SIGKILL)
        return Solution(answer=2 * int(task.task_id))


class Slow:
    """Waits as many seconds as TOY_SECONDS says, within its deadline, then answers."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        threading.Event().wait(min(context.deadline.left(), float(os.environ.get("TOY_SECONDS", "1"))))
        return Solution(answer=2 * int(task.task_id))


class Gated:
    """Waits until the file named by TOY_GATE is there, then answers."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        gate = Path(os.environ["TOY_GATE"])
        while not gate.exists():
            threading.Event().wait(0.05)
        return Solution(answer=2 * int(task.task_id))


class Late:
    """Waits as many seconds as TOY_SECONDS says, whatever its deadline, then answers."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        threading.Event().wait(float(os.environ.get("TOY_SECONDS", "1")))
        return Solution(answer=2 * int(task.task_id))


class Hasty:
    """Wants to come back in the past."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        raise ComeBack(after=-1.0)


class Strange:
    """Comes back with a state that no ledger can keep."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        raise ComeBack(after=1.0, state={"lock": object()})


def _push(item: str) -> Effect:
    return Effect(tool="push", args={"item": item})


class Hoarding:
    """Keeps 50 MB of each task for good, and takes TOY_SECONDS."""

    _kept: ClassVar[list[bytes]] = []

    def solve(self, task: Task, context: TaskContext) -> Solution:
        self._kept.append(os.urandom(50 * 2**20))
        return Slow().solve(task, context)
