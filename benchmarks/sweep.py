"""How long a sweep takes beside what the request limit allows: real workers, the arena emulator, limiter on.

    python -m benchmarks.sweep [--runs 10] [--in-flight 4] [--seconds 2] [--effects-every 3]

The bound is ``max(0, requests - 100) / 20 s`` (20 requests a second after a burst of 100) + solver time. The
solver looks at the workspace, waits as for a model, and writes a draft in every third task; so solver time is
known: tasks x seconds / slots, where slots are the solves at a time, at most the tasks of the runs in flight.

Starting the pool is not in the time; opening the runs is. Emulator, Redis and workers share this machine: the
emulator's work (it builds a scenario in about a second per run) is in the total and not in the bound.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from pydantic import SecretStr

from benchmarks.command import arguments
from emulators.serve import ArenaEmulator
from producer.archive import Archive
from producer.local import local_pool
from producer.sweeps import play, requests_of
from shared.models import RunRequest
from shared.platforms.arena.platform import ArenaPlatform
from shared.settings import Settings
from workers.api import Effect, Solution, Task, TaskContext

ALLOWED = 1.10
SECONDS, EVERY = "BENCHMARK_SECONDS", "BENCHMARK_EFFECTS_EVERY"


class Waiting:
    """Looks at the workspace, waits, and declares one draft in every so many tasks."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        assert context.workspace is not None
        files = len(context.workspace.paths())
        time.sleep(float(os.environ[SECONDS]))
        number = int("".join(filter(str.isdigit, task.task_id)) or "0")
        draft = Effect(tool="write", args={"path": f"/drafts/{task.task_id}.md", "content": f"{files} files"})
        every = int(os.environ[EVERY])
        return Solution(answer=files, effects=(draft,) if every and number % every == 0 else ())


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--in-flight", type=int, default=4, help="runs at a time")
    parser.add_argument("--seconds", type=float, default=2.0, help="that the solver waits in each task")
    parser.add_argument("--effects-every", type=int, default=3, help="tasks per effect; 0: no effects")
    given = parser.parse_args()
    os.environ[SECONDS], os.environ[EVERY] = str(given.seconds), str(given.effects_every)
    with tempfile.TemporaryDirectory() as name:
        if measure(given.runs, given.in_flight, given.seconds, Path(name)) > ALLOWED:
            sys.exit(f"more than {ALLOWED:g} times the bound")


def measure(runs: int, in_flight: int, seconds: float, folder: Path) -> float:
    """Play the sweep and print its figures. Returns its time over the bound."""
    with ArenaEmulator.start() as emulator:
        settings = Settings.load(
            _env_file=None,
            arena_url=emulator.url,
            arena_key=SecretStr(emulator.key),
            data=folder / "data",
            archive=folder / "archive",
            solvers="waiting=benchmarks.sweep:Waiting",
            redis_url=None,
        )
        with local_pool(settings, lambda line: print(line, file=sys.stderr)) as local:
            platform = ArenaPlatform(local.settings, local.pool)
            requests = requests_of(RunRequest(budget_seconds=110), runs=runs, seeds=[], solvers=["waiting"])
            began = time.monotonic()
            played = play(
                local.pool,
                platform,
                requests,
                in_flight=in_flight,
                archive=Archive(settings.archive),
                view=lambda _: None,
            )
            took = time.monotonic() - began
            platform.close()
        page = emulator.books()["accounts"]["team-1"]
    tasks = sum(row.tasks_total for row in played.done)
    slots = min(settings.processes * settings.threads, 30 * min(in_flight, runs))
    waiting = max(0, page["requests"] - 100) / 20
    solving = tasks * seconds / slots
    lines = {
        "runs finished with every task submitted": f"{sum(row.complete for row in played.done)} of {runs}",
        "requests": page["requests"],
        "limit: max(0, requests - 100) / 20": f"{waiting:.1f} s",
        f"solver: {tasks} x {seconds:g} s / {slots} slots": f"{solving:.1f} s",
        "bound": f"{waiting + solving:.1f} s",
        "sweep": f"{took:.1f} s",
        "sweep / bound": f"{took / (waiting + solving):.3f} (promised: at most {ALLOWED:.2f})",
        "429": page["by_status"].get("429", 0),
        "requests that the limit had no token for": page["over_limit"],
        "most requests in 1 s, 10 s, 60 s": ", ".join(str(page["peaks"][w]) for w in ("1s", "10s", "60s")),
        "burst needed at 20/s (limit: 100)": page["peaks"]["burst"],
    }
    for label, value in lines.items():
        print(f"{label:<48}{value}")
    return float(took / (waiting + solving))


if __name__ == "__main__":
    main()
