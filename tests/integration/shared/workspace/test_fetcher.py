"""Files of a run, from the emulator into the cache: each once in the pool, verified, with few requests."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from emulators.arena.scenario.model import Scenario
from shared.deadline import Deadline
from shared.errors import Conflict, Unavailable, Unreadable, UsageError
from shared.models import Run, RunRequest
from shared.platforms.arena.platform import ArenaPlatform
from shared.platforms.base import Prepared
from shared.pool import keys
from shared.pool.pool import Pool
from shared.workspace.fetcher import LARGEST_FILE, Fetcher
from tests.support.arena import STATE, tiny
from tests.support.played_arena import PlayedArena, Rule

TASKS = 10
ZIP = "GET /runs/*/tasks/*/workspace.zip"
BLOB = "GET /runs/*/blobs/*"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def many(theme: str, seed: int, variation: int) -> Scenario:
    """Ten tasks that share files; the first four have three of their own each, the next two have one."""
    base = tiny(theme, seed, variation)
    common = base.tasks[1].files
    blobs = dict(base.blobs)
    tasks = []
    for number in range(1, TASKS + 1):
        own = {
            f"/own/{place}.md": f"{seed} {number} {place}\n".encode() * 50
            for place in range(3 if number <= 4 else 1 if number <= 6 else 0)
        }
        blobs |= {sha(data): data for data in own.values()}
        files = common | {path: sha(data) for path, data in own.items()}
        tasks.append(dataclasses.replace(base.tasks[1], task_id=f"t{number:02d}", files=files))
    return dataclasses.replace(base, tasks=tuple(tasks), blobs=blobs)


def soon() -> Deadline:
    return Deadline.after(30)


@pytest.fixture
def arena(tmp_path: Path, redis_url: str) -> Iterator[PlayedArena]:
    played = PlayedArena(tmp_path, redis_url)
    yield played
    played.stop()


def begin(arena: PlayedArena, rules: tuple[Rule, ...] = (), request_id: str = "req-1") -> tuple[Fetcher, Run]:
    """A run in progress, and the fetcher of one of its workers."""
    arena.start(rules, build=many)
    platform = arena.platform()
    run = platform.open(RunRequest(seed=7), Prepared(), request_id)
    return Fetcher(arena.pool, platform, run), run


def another(arena: PlayedArena, run: Run) -> Fetcher:
    """The fetcher of another worker process."""
    platform = arena.platform()
    return Fetcher(arena.pool, platform, run)


def downloads(arena: PlayedArena) -> int:
    """Files and zips that the emulator sent."""
    books = arena.books()
    return sum(sum(books.get(what, {}).values()) for what in ("blobs", "zips", "files"))


def everything(fetcher: Fetcher, run: Run) -> dict[str, bytes]:
    """All files of all tasks, as a solver would read them; verified."""
    read = {}
    for task in run.tasks:
        for path, name in fetcher.paths(task).items():
            read[name] = fetcher.bytes(task, path, soon())
            assert sha(read[name]) == name
    return read


def test_a_cold_cache_costs_one_request_per_task_with_files_of_its_own(arena: PlayedArena) -> None:
    fetcher, run = begin(arena)

    everything(fetcher, run)
    assert downloads(arena) == 6
    assert arena.books()["requests"] == 1 + 1 + 6, "POST /runs, the manifest, and the files"


def test_a_warm_cache_costs_nothing_in_any_process(arena: PlayedArena) -> None:
    fetcher, run = begin(arena)
    everything(fetcher, run)
    before = arena.books()["requests"]

    everything(fetcher, run)
    everything(another(arena, run), run)
    assert arena.books()["requests"] == before


def test_workers_that_start_together_fetch_everything_once(arena: PlayedArena) -> None:
    fetcher, run = begin(arena)
    fetchers = [fetcher, *(another(arena, run) for _ in range(3))]

    with ThreadPoolExecutor(TASKS * 2) as threads:
        jobs = [
            threads.submit(fetchers[number % 4].ensure, task, soon())
            for number, task in enumerate((*run.tasks, *run.tasks))
        ]
        for job in jobs:
            job.result()

    assert downloads(arena) == 6
    assert max(arena.books().get("blobs", {"": 0}).values()) <= 1
    assert max(arena.books()["zips"].values()) == 1


def test_a_run_that_shares_files_with_an_earlier_one_fetches_only_the_rest(arena: PlayedArena) -> None:
    fetcher, run = begin(arena)
    everything(fetcher, run)
    before = downloads(arena)
    platform = arena.platform()
    # variation and so AGENTS.md differ; all the rest depends on the seed
    later = platform.open(RunRequest(seed=7), Prepared(), "req-2")

    everything(Fetcher(arena.pool, platform, later), later)
    assert downloads(arena) - before == 1


def test_what_was_evicted_since_the_plan_was_made_is_fetched_again(
    arena: PlayedArena, redis_client: redis.Redis
) -> None:
    fetcher, run = begin(arena)
    everything(fetcher, run)
    path = "/own/0.md"
    gone = fetcher.paths(run.tasks[0])[path]
    redis_client.delete(keys.plan(run.ref), keys.blob(gone))
    later = another(arena, run)
    later.ensure(run.tasks[0], soon())  # the plan is made anew, for one file
    state = fetcher.paths(run.tasks[8])[STATE]
    redis_client.delete(keys.blob(state))
    before = downloads(arena)

    assert sha(another(arena, run).bytes(run.tasks[8], STATE, soon())) == state
    assert downloads(arena) - before == 1


def test_a_file_that_an_effect_changed_is_fetched_as_it_was(arena: PlayedArena) -> None:
    fetcher, run = begin(arena)
    platform = arena.platform()
    ops = {"ops": [{"op": "quarantine", "agent": "agent-01"}]}
    assert platform.call_tool(run, run.tasks[0], "containment", ops, soon()).ok

    everything(fetcher, run)


@pytest.mark.parametrize(
    "fault",
    [
        {"fault": "corrupt", "count": 3},
        {"fault": "truncate", "length": "cut"},
        {"fault": "truncate"},
        {"fault": "drop", "when": "after"},
        {"fault": "status", "status": 502, "body": "html"},
        {"fault": "status", "status": 404},
        {"fault": "too_many"},
    ],
    ids=lambda fault: "-".join(str(value) for value in fault.values()),
)
def test_damaged_downloads_are_noticed_and_made_good(arena: PlayedArena, fault: Rule) -> None:
    fetcher, run = begin(
        arena, ({"endpoint": ZIP, "first": 1} | fault, {"endpoint": BLOB, "first": 1, "per": "path"} | fault)
    )

    everything(fetcher, run)
    assert arena.books()["faults"]


def test_where_there_are_no_bundles_each_file_comes_by_its_hash(arena: PlayedArena) -> None:
    fetcher, run = begin(arena, ({"endpoint": ZIP, "fault": "status", "status": 404},))

    files = everything(fetcher, run)
    assert arena.books()["blobs"] == dict.fromkeys(files, 1)


def test_a_file_that_never_comes_whole_is_unavailable_and_the_others_come(arena: PlayedArena) -> None:
    fetcher, run = begin(
        arena,
        (
            {"endpoint": ZIP, "fault": "status", "status": 404},
            {"endpoint": BLOB, "fault": "corrupt", "nth": [1, 2, 3], "per": "path"},
        ),
    )

    with pytest.raises(Unavailable, match="came with other bytes 3 times"):
        fetcher.bytes(run.tasks[0], "/own/0.md", soon())


def test_the_listing_is_asked_for_once_in_the_whole_pool(arena: PlayedArena) -> None:
    fetcher, run = begin(arena)
    others = [another(arena, run) for _ in range(3)]

    with ThreadPoolExecutor(4) as threads:
        listings = list(threads.map(lambda one: one.paths(run.tasks[0]), [fetcher, *others]))

    assert all(listing == listings[0] for listing in listings)
    assert arena.books()["requests"] == 2, "POST /runs, and the manifest once"


def test_a_run_that_is_over_gives_no_files(arena: PlayedArena) -> None:
    fetcher, run = begin(arena)
    fetcher.paths(run.tasks[0])
    arena.platform().finish(run, soon())

    with pytest.raises(Conflict):
        fetcher.ensure(run.tasks[0], soon())


def test_a_file_that_the_task_does_not_have_is_named(arena: PlayedArena) -> None:
    fetcher, run = begin(arena)

    with pytest.raises(UsageError, match="task t09 has no file"):
        fetcher.bytes(run.tasks[8], "/own/0.md", soon())


class Sized:
    """The arena's files, some of whose sizes are said to be others."""

    def __init__(self, platform: ArenaPlatform, sizes: dict[str, int]) -> None:
        self._platform = platform
        self._sizes = sizes

    def __getattr__(self, name: str) -> object:
        return getattr(self._platform, name)

    def files(self, run: Run, task: object) -> object:
        files = self._platform.files(run, task)  # type: ignore[arg-type]
        return dataclasses.replace(
            files, listing=dataclasses.replace(files.listing, sizes=files.sizes | self._sizes)
        )


def test_a_file_that_is_too_large_is_unreadable_and_the_rest_comes(arena: PlayedArena) -> None:
    fetcher, run = begin(arena)
    large = fetcher.paths(run.tasks[0])["/own/0.md"]
    pool: Pool = arena.pool
    sized = Fetcher(pool, Sized(arena.platform(), {large: LARGEST_FILE + 1}), run)  # type: ignore[arg-type]

    sized.ensure(run.tasks[0], soon())
    with pytest.raises(Unreadable, match="not downloaded"):
        sized.bytes(run.tasks[0], "/own/0.md", soon())
    assert sized.bytes(run.tasks[0], "/own/1.md", soon())
