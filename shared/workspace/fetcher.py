"""Brings the files of a run into the pool's cache, each once, with as few requests as possible.

The plan of a run is made once in the whole pool, from what the cache holds at that moment, and kept with the
run: workers that made their own would each see another cache and choose other requests. A file that is in no
fetch of it (it was cached then and is gone now) has the plan made anew.

Each fetch is one flight in the pool. Whichever way a file comes, it counts only with the sha256 that the
manifest gives: what a bundle lacks or shows in another state is fetched by hash. One that does not come so,
round after round, is lost: it is unreadable for the rest of the run, and the tasks go on without it.
"""

from __future__ import annotations

import builtins
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence

import redis
import structlog

from shared.deadline import Deadline
from shared.errors import NotFound, Unreadable, UsageError
from shared.models import Run, Task
from shared.platforms.base import Files, Platform
from shared.pool import keys
from shared.pool.flights import Missing
from shared.pool.pool import Pool
from shared.workspace.bundle import unpack
from shared.workspace.fetch_plan import Fetch, FetchKind, plan

LARGEST_FILE = 128 * 2**20
"""Bytes of a file that is downloaded."""

TRIES = 3
"""Requests for a file or bundle that arrives, but damaged."""

ROUNDS = 3
"""So many such rounds, a task's pause apart, and a file is lost: a manifest can be wrong for good."""

log = structlog.get_logger(__name__)


class Fetcher:
    """The files of one run. For several threads.

    Args:
        pool: holds cache, flights and the plan.
        platform: lists and sends the files.
    """

    def __init__(self, pool: Pool, platform: Platform, run: Run) -> None:
        self._pool = pool
        self._platform = platform
        self._run = run

    def paths(self, task: Task) -> Mapping[str, str]:
        """path → sha256 of the task's files; fetches none. Empty where the platform has no files."""
        files = self._platform.files(self._run, task)
        return {} if files is None else files.paths

    def bytes(self, task: Task, name: str, deadline: Deadline) -> builtins.bytes:
        """One file of the task.

        Args:
            name: its path or its sha256.

        Raises:
            UsageError: the task has no such file.
            Unreadable: it is too large to be downloaded, or lost.
            Unavailable, Refused: it did not come, or never came whole.
            DeadlinePassed: it was not there in time.
        """
        files = self._platform.files(self._run, task)
        paths = {} if files is None else files.paths
        sha = paths.get(name, name)
        if files is None or sha not in paths.values():
            raise UsageError(f"task {task.task_id} has no file {name!r}")
        held = self._pool.blobs.get(sha)
        if held is None and self._lost([sha]):
            raise Unreadable(_why(sha))
        return self._fetch(files, sha, deadline) if held is None else held

    def ensure(self, task: Task, deadline: Deadline) -> Mapping[str, str]:
        """Bring the task's files into the cache, all but those too large or lost; path → sha256.

        Raises:
            Unavailable, Refused: one did not come, or never came whole.
            DeadlinePassed: they were not there in time.
        """
        files = self._platform.files(self._run, task)
        if files is None:
            return {}
        wanted = {sha for sha in files.paths.values() if files.sizes.get(sha, 0) <= LARGEST_FILE}
        missing = wanted - self._pool.blobs.have(wanted)
        not_come: Missing | None = None
        for sha in sorted(missing - self._lost(missing)):
            if self._pool.blobs.get(sha) is None:
                try:
                    self._fetch(files, sha, deadline)
                except Missing as error:  # the others may come, or be lost in the same rounds
                    not_come = error
        if not_come is not None:
            raise not_come
        return files.paths

    def _fetch(self, files: Files, sha: str, deadline: Deadline) -> builtins.bytes:
        size = files.sizes.get(sha, 0)
        if size > LARGEST_FILE:
            raise Unreadable(f"{size} bytes: files of more than {LARGEST_FILE} are not downloaded")
        fetch = self._planned(files, sha, deadline)
        return self._pool.flights.fly(
            f"fetch:{self._run.ref}:{fetch.kind}:{fetch.id}",
            lambda: self._carry_out(fetch, files, sha, deadline),
            lambda: self._pool.blobs.get(sha),
            deadline,
        )

    def _planned(self, files: Files, sha: str, deadline: Deadline) -> Fetch:
        """The fetch that brings ``sha``, from the run's plan."""

        def known() -> Fetch | None:
            stored = self._pool.redis.do(
                lambda client: client.get(keys.plan(self._run.ref)), deadline=deadline
            )
            return _bringing(sha, json.loads(stored)) if stored else None

        def make() -> Fetch:
            listed = {sha for paths in files.by_task.values() for sha in paths.values()}
            too_large = {sha for sha, size in files.sizes.items() if size > LARGEST_FILE}
            made = plan(files.by_task, files.sizes, (self._pool.blobs.have(listed) | too_large) - {sha})
            rows = [(fetch.kind, fetch.id, fetch.task_id, sorted(fetch.brings)) for fetch in made]
            self._pool.redis.do(
                lambda client: client.set(keys.plan(self._run.ref), json.dumps(rows)), deadline=deadline
            )
            found = _bringing(sha, rows)
            assert found is not None, "a plan brings every file that is not cached"
            return found

        return self._pool.flights.fly(f"plan:{self._run.ref}", make, known, deadline)

    def _carry_out(self, fetch: Fetch, files: Files, sha: str, deadline: Deadline) -> builtins.bytes:
        """Send the requests of one fetch, fill the cache, and return the file that was asked for."""
        missing = fetch.brings - self._pool.blobs.have(fetch.brings)
        missing = (missing - self._lost(missing)) | {sha}
        found: dict[str, builtins.bytes] = {}
        if fetch.kind is FetchKind.BUNDLE and len(missing) > 1:
            found = self._bundle(files, fetch.task_id, missing, deadline)
        for lacking in sorted(missing - found.keys()):
            data = self._blob(files, fetch.task_id, lacking, deadline)
            if data is not None:
                found[lacking] = data
        if sha not in found:  # of the others whoever needs them will hear
            self._count_round(missing - found.keys())
            raise Missing(f"{self._platform.name}: {_why(sha)}")
        return found[sha]

    def _bundle(
        self, files: Files, task_id: str, wanted: Collection[str], deadline: Deadline
    ) -> dict[str, builtins.bytes]:
        """The wanted files that a bundle holds. One that holds none came damaged and is asked for again."""
        for _ in range(TRIES):
            bundle = files.bundle(task_id, deadline)
            if bundle is None:
                break
            found = unpack(bundle, files.by_task[task_id], files.sizes, wanted, LARGEST_FILE)
            for data in found.values():
                self._pool.blobs.put(data)
            if found:
                return found
        return {}

    def _blob(self, files: Files, task_id: str, sha: str, deadline: Deadline) -> builtins.bytes | None:
        """One file by hash; None where the platform does not have it, or sends other bytes."""
        for _ in range(TRIES):
            try:
                data = files.blob(sha, task_id, deadline)
            except NotFound:
                return None
            if hashlib.sha256(data).hexdigest() == sha:
                self._pool.blobs.put(data)
                return data
        return None

    def _count_round(self, shas: Collection[str]) -> None:
        """One more round did not bring these; the last makes them lost."""
        name = keys.lost(self._run.ref)

        def count(client: redis.Redis) -> None:
            for sha in shas:
                client.hincrby(name, sha, 1)

        self._pool.redis.do(count)
        log.warning("fetcher.not_come", run=str(self._run.ref), files=sorted(shas))

    def _lost(self, shas: Collection[str]) -> set[str]:
        """Those that are not to be had in this run."""
        if not shas:
            return set()
        asked = sorted(shas)
        rounds = self._pool.redis.do(lambda client: client.hmget(keys.lost(self._run.ref), asked))
        return {sha for sha, count in zip(asked, rounds, strict=True) if int(count or 0) >= ROUNDS}


def _why(sha: str) -> str:
    return f"file {sha[:12]}… is listed, but did not come, or came with other bytes {TRIES} times"


def _bringing(sha: str, rows: Sequence[tuple[str, str, str, list[str]]]) -> Fetch | None:
    for kind, name, task_id, brings in rows:
        if sha in brings:
            return Fetch(FetchKind(kind), name, task_id, frozenset(brings))
    return None
