"""How many requests one dev run costs, counted by the arena emulator, beside the naive way and the promise.

    python -m benchmarks.requests [--seed 7]

One pool of real workers plays five dev runs of one seed on an emulator whose limiter is on. The solver opens
every file of every task and writes one draft in every third. The counts are the emulator's own (its books).

cold      nothing is cached.
again     the same seed again. The platform picks another variation each time: names, wordings and formats of
          some files change, and those alone are fetched.
warm      the emulator begins anew and deals the first variation again: the very same files.
tools     files are cached, but the solver asks by ``context.tools``, as an agent does: ``read`` for every
          file, a ``search``, a ``query_logs``, and ``threat_intel`` in two tasks, which always goes out. The
          first answers of a local tool are compared with the platform's before it is trusted
          (``shared.workspace.trust``), and tasks that play at that moment all compare: for the first run on
          a platform and theme this comes on top of what is promised.
proved    the same once more, with tools that are trusted by now (and a variation not seen before).

Promised are 33 (open, manifest, 30 submits, finish) + 2 per effect + 1 per ``threat_intel`` + files, where
files are at most 1 + the number of tasks that have files of their own. Two naive ways stand beside it: one
zip per task with tools answered here, and one zip per task with every read-only tool call sent out.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from benchmarks.command import arguments
from emulators.serve import ArenaEmulator
from producer.archive import Archive
from producer.local import local_pool
from producer.sweeps import play
from shared.models import RunRequest
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool.pool import Pool
from shared.settings import Settings
from workers.api import Effect, Solution, Task, TaskContext, ToolError

SOLVERS = "reading=benchmarks.requests:Reading,asking=benchmarks.requests:Asking"
OWN_TOOLS = ("threat_intel",)
FILES = ("blobs", "workspace.zip", "files/")
TOOLS = "POST /runs/{run_id}/tasks/{task_id}/tools/{tool}"


class Reading:
    """Opens every file as a document; writes one draft in every third task."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        assert context.workspace is not None
        paths = context.workspace.paths()
        for path in paths:
            context.workspace.document(path)
        return Solution(answer=len(paths), effects=_draft(task, len(paths)))


class Asking:
    """The same by tools, the way an agent works."""

    def solve(self, task: Task, context: TaskContext) -> Solution:
        assert context.workspace is not None
        paths = context.workspace.paths()
        for path in paths:
            _try(context, "read", path=path)
        _try(context, "search", pattern=task.task_id, path="/")
        _try(context, "query_logs", limit=5, offset=_number(task))
        if _number(task) % 15 == 0:
            _try(context, "threat_intel", indicator="example.org")
        return Solution(answer=len(paths), effects=_draft(task, len(paths)))


def _try(context: TaskContext, tool: str, **args: str | int) -> None:
    try:
        context.tools.call(tool, **args)
    except ToolError as error:  # a picture has no text: the call counts all the same
        context.log("refused", tool=tool, reason=str(error))


def _number(task: Task) -> int:
    return int("".join(filter(str.isdigit, task.task_id)) or "0")


def _draft(task: Task, files: int) -> tuple[Effect, ...]:
    draft = Effect(tool="write", args={"path": f"/drafts/{task.task_id}.md", "content": f"{files} files"})
    return (draft,) if _number(task) % 3 == 0 else ()


@dataclass(frozen=True)
class Counts:
    """What one run cost, by the books, and what the naive way and the promise come to."""

    name: str
    endpoints: Counter[str]
    refused: int
    effects: int
    owners: int
    files: int
    calls: int
    """Read-only tool calls of the solver wherever they were answered; of "reading", files that it opened."""
    always_out: int
    seconds: float

    @property
    def requests(self) -> int:
        return self.endpoints.total()

    @property
    def files_fetched(self) -> int:
        return sum(count for name, count in self.endpoints.items() if any(part in name for part in FILES))

    @property
    def promised(self) -> int:
        return 33 + 2 * self.effects + self.always_out + 1 + self.owners

    @property
    def zips(self) -> int:
        """Open, a zip and a submit per task, finish, effects."""
        return 2 + 2 * 30 + self.effects + self.always_out

    @property
    def naive(self) -> int:
        return self.zips - self.always_out + self.calls


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seed", type=int, default=7, help="seed of the scenario")
    seed = parser.parse_args().seed
    with tempfile.TemporaryDirectory() as name:
        rows = measure(seed, Path(name))
    print(f"dev runs of seed {seed}: requests by endpoint\n")
    endpoints = sorted({endpoint for row in rows for endpoint in row.endpoints})
    print(f"{'':<56}" + "".join(f"{row.name:>8}" for row in rows))
    for endpoint in endpoints:
        print(f"{endpoint:<56}" + "".join(f"{row.endpoints[endpoint]:>8}" for row in rows))
    lines: dict[str, list[float]] = {
        "requests": [row.requests for row in rows],
        "  of them for files": [row.files_fetched for row in rows],
        "promised at most": [row.promised for row in rows],
        "naive: a zip per task": [row.zips for row in rows],
        "naive: a zip per task, every read-only call sent out": [row.naive for row in rows],
        "effects": [row.effects for row in rows],
        "different files": [row.files for row in rows],
        "tasks with files of their own": [row.owners for row in rows],
        "files that the solver opens, or its tool calls": [row.calls for row in rows],
        "429": [row.refused for row in rows],
        "seconds": [round(row.seconds, 1) for row in rows],
    }
    print()
    for label, values in lines.items():
        print(f"{label:<56}" + "".join(f"{value:>8}" for value in values))
    proved = [row for row in rows if row.name != "tools"]
    if any(row.requests > row.promised or row.refused for row in proved) or rows[2].files_fetched:
        sys.exit("more than promised")


def measure(seed: int, folder: Path) -> list[Counts]:
    """Play the five runs."""
    with ArenaEmulator.start(seed=seed) as emulator:
        settings = Settings.load(
            _env_file=None,
            arena_url=emulator.url,
            arena_key=SecretStr(emulator.key),
            data=folder / "data",
            archive=folder / "archive",
            solvers=SOLVERS,
            redis_url=None,
        )
        with local_pool(settings, lambda line: print(line, file=sys.stderr)) as local:
            platform = ArenaPlatform(local.settings, local.pool)
            try:
                archive = Archive(settings.archive)
                rows = [
                    play_one("cold", "reading", seed, emulator, local.pool, platform, archive),
                    play_one("again", "reading", seed, emulator, local.pool, platform, archive),
                ]
                port = int(emulator.url.split(":")[2].partition("/")[0])
                emulator.stop()
                with ArenaEmulator.start(seed=seed, port=port) as same:
                    rows.append(play_one("warm", "reading", seed, same, local.pool, platform, archive))
                    rows.append(play_one("tools", "asking", seed, same, local.pool, platform, archive))
                    rows.append(play_one("proved", "asking", seed, same, local.pool, platform, archive))
                return rows
            finally:
                platform.close()


def play_one(
    name: str,
    solver: str,
    seed: int,
    emulator: ArenaEmulator,
    pool: Pool,
    platform: ArenaPlatform,
    archive: Archive,
) -> Counts:
    before = page(emulator)
    began = time.monotonic()
    request = RunRequest(seed=seed, solver=solver, budget_seconds=100)
    played = play(pool, platform, [request], in_flight=1, archive=archive, view=lambda _: None)
    took = time.monotonic() - began
    (row,) = played.done
    assert row.complete, row
    after = page(emulator)
    endpoints = Counter(after["by_endpoint"])
    endpoints.subtract(before.get("by_endpoint", {}))
    archived = archive.load(row.ref)
    listing = json.loads((archived.folder / "manifest.json").read_text())
    contents = [set(paths.values()) for paths in listing.values()]
    shared = set.intersection(*contents)
    asked = [
        str(line["name"])
        for task_id in archived.tasks
        for line in archived.transcript(task_id)
        if line.get("event") == "tool"
    ]
    return Counts(
        name=name,
        endpoints=+endpoints,
        refused=after["by_status"].get("429", 0) - before.get("by_status", {}).get("429", 0),
        effects=sum(len(task.effects) for task in archived.tasks.values()),
        owners=sum(bool(files - shared) for files in contents),
        files=len(set.union(*contents)),
        calls=len(asked) or sum(map(len, contents)),
        always_out=sum(name in OWN_TOOLS for name in asked),
        seconds=took,
    )


def page(emulator: ArenaEmulator) -> dict[str, Any]:
    """What the team's key did so far."""
    found: dict[str, Any] = emulator.books()["accounts"].get("team-1", {})
    return found


if __name__ == "__main__":
    main()
