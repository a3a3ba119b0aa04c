"""A platform whose manifest is wrong costs the files that are listed wrongly, and nothing else."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import redis

from shared.deadline import Deadline
from shared.errors import Unavailable, Unreadable
from shared.models import Run, RunRequest, Task
from shared.platforms.arena.files import ArenaFiles
from shared.platforms.base import Prepared
from shared.pool import keys
from shared.workspace.fetcher import ROUNDS, Fetcher
from tests.support.played_arena import PlayedArena, Rule

GHOST = "ab" * 32


@pytest.fixture
def arena(tmp_path: Path, redis_url: str) -> Iterator[PlayedArena]:
    played = PlayedArena(tmp_path, redis_url)
    yield played
    played.stop()


class Listed:
    """The arena's platform, with a listing that says other things.

    Args:
        more: path → sha256 that each task is said to have as well.
        size: what is said of a file of so many bytes.
    """

    def __init__(self, arena: PlayedArena, more: Mapping[str, str], size: float = 1.0) -> None:
        self._platform = arena.platform()
        self._more = more
        self._size = size

    def __getattr__(self, name: str) -> object:
        return getattr(self._platform, name)

    def files(self, run: Run, task: Task) -> ArenaFiles:
        files = self._platform.files(run, task)
        listing = dataclasses.replace(
            files.listing,
            by_task={task_id: {**paths, **self._more} for task_id, paths in files.by_task.items()},
            sizes={sha: int(size * self._size) for sha, size in files.sizes.items()},
        )
        return dataclasses.replace(files, listing=listing)


def begin(
    arena: PlayedArena,
    rules: tuple[Rule, ...] = (),
    more: Mapping[str, str] | None = None,
    size: float = 1.0,
) -> tuple[Fetcher, Run]:
    arena.start(rules)
    run = arena.platform().open(RunRequest(seed=7), Prepared(), "req-1")
    platform = Listed(arena, more or {}, size)
    return Fetcher(arena.pool, platform, run), run  # type: ignore[arg-type]


def soon() -> Deadline:
    return Deadline.after(30)


def give_up_on(fetcher: Fetcher, task: Task, client: redis.Redis) -> None:
    """Let the rounds pass after which a file is lost, without waiting for its failure to be forgotten."""
    for _ in range(ROUNDS):
        with pytest.raises(Unavailable, match="listed, but did not come"):
            fetcher.ensure(task, soon())
        client.delete(*client.keys(keys.flight("*")))
    fetcher.ensure(task, soon())


def test_sizes_in_characters_cost_nothing(arena: PlayedArena) -> None:
    fetcher, run = begin(arena, size=0.3)

    for task in run.tasks:
        fetcher.ensure(task, soon())
    assert sum(arena.books()["zips"].values()) == 1, "the zip brought all of them"
    assert "blobs" not in arena.books()


def test_a_file_that_nobody_has_is_unreadable_and_the_rest_comes(
    arena: PlayedArena, redis_client: redis.Redis
) -> None:
    fetcher, run = begin(arena, more={"/ghost.md": GHOST})

    give_up_on(fetcher, run.tasks[0], redis_client)
    with pytest.raises(Unreadable, match="listed, but did not come"):
        fetcher.bytes(run.tasks[0], "/ghost.md", soon())
    for path, sha in fetcher.paths(run.tasks[0]).items():
        if path != "/ghost.md":
            assert hashlib.sha256(fetcher.bytes(run.tasks[0], path, soon())).hexdigest() == sha


def test_what_is_lost_is_asked_for_no_more_by_anybody(arena: PlayedArena, redis_client: redis.Redis) -> None:
    fetcher, run = begin(arena, more={"/ghost.md": GHOST, "/other.md": "cd" * 32})
    give_up_on(fetcher, run.tasks[0], redis_client)
    before = arena.books()["requests"]

    another = Fetcher(arena.pool, Listed(arena, {"/ghost.md": GHOST, "/other.md": "cd" * 32}), run)  # type: ignore[arg-type]
    for task in run.tasks:
        another.ensure(task, soon())
    assert arena.books()["requests"] == before


def test_a_file_that_always_comes_with_other_bytes_is_lost(
    arena: PlayedArena, redis_client: redis.Redis
) -> None:
    rules: tuple[Rule, ...] = (
        {"endpoint": "GET /runs/*/tasks/*/workspace.zip", "fault": "status", "status": 404},
        {"endpoint": "GET /runs/*/blobs/*", "fault": "corrupt", "count": 1},
    )
    fetcher, run = begin(arena, rules)

    give_up_on(fetcher, run.tasks[0], redis_client)
    with pytest.raises(Unreadable):
        fetcher.bytes(run.tasks[0], "/AGENTS.md", soon())
