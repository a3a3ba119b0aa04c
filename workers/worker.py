"""What one worker process holds: the pool, the platforms, the solvers, the leases. Made after the fork."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import uuid

import structlog

from shared.deadline import Deadline
from shared.documents.sandbox import Parsers
from shared.models import Run, Task
from shared.platforms import registry
from shared.platforms.base import Platform
from shared.pool.fleet import worker_name
from shared.pool.ledger import Lease
from shared.pool.pool import Pool
from shared.settings import Settings
from shared.workspace.fetcher import Fetcher
from shared.workspace.parse_cache import ParseCache
from shared.workspace.trust import Trust
from shared.workspace.workspace import Workspace, Workspaces
from workers import lifeline
from workers.leases import Leases
from workers.logs import Mask
from workers.model.models import Models
from workers.solvers.registry import Solvers

EXIT_STUCK = 70
"""Exit status of a process that gave up because too many of its solvers never returned."""

_FAREWELL_SECONDS = 2.0

log = structlog.get_logger(__name__)


class Worker:
    """One worker process.

    Args:
        settings: of this machine.
        name: of its node; without one the machine's.
        most_stuck: so many solvers that never return make the process leave.
    """

    def __init__(self, settings: Settings, *, name: str | None = None, most_stuck: int = 1) -> None:
        self.settings = settings
        self.most_stuck = most_stuck
        self.name = worker_name(name or socket.gethostname(), os.getpid())
        self.pool = Pool.connect(settings)
        self.solvers = Solvers(settings)
        self.models = Models(settings, self.pool)
        self.mask = Mask.of(settings)
        self.leases = Leases(self.pool.ledger, settings.lease_seconds, self._count_stuck)
        self._parsers = Parsers()
        self._workspaces = Workspaces(ParseCache.over(self.pool, self._parsers))
        self._platforms: dict[str, Platform] = {}
        self._trusts: dict[tuple[str, str | None], Trust] = {}
        self._lock = threading.Lock()
        self.leaving = False
        """Whether this process takes no more jobs, and will end."""

    def owner(self) -> str:
        """A new token for one execution of a job: a redelivered job is another owner, even in one process."""
        return f"{self.name}-{uuid.uuid4().hex[:8]}"

    def platform(self, name: str) -> Platform:
        """The platform called ``name``, made on the first call.

        Raises:
            SettingsError: no such platform here, or a setting of it is missing.
        """
        with self._lock:
            if name not in self._platforms:
                self._platforms[name] = registry.create(name, self.settings, self.pool)
            return self._platforms[name]

    def open_workspace(
        self, platform: Platform, run: Run, task: Task, deadline: Deadline
    ) -> Workspace | None:
        """The workspace of one task, its files fetched where the pool does not have them yet.

        Returns:
            None where the platform has no files.

        Raises:
            Unavailable, Refused, DeadlinePassed: the files did not come.
        """
        fetcher = Fetcher(self.pool, platform, run)
        paths = fetcher.ensure(task, deadline)
        if not paths:
            return None
        return self._workspaces.open(paths, lambda sha: fetcher.bytes(task, sha, deadline), deadline)

    def open_library(self, platform: Platform, run: Run, task: Task, deadline: Deadline) -> Workspace | None:
        """All files of a run as one workspace, whichever of its tasks asks; fetches what is looked into.

        A path that two tasks hold with different contents is left out. None where the platform has no files.
        """
        files = platform.files(run, task)
        if files is None or not files.by_task:
            return None
        fetcher = Fetcher(self.pool, platform, run)
        holders = {sha: task_id for task_id, paths in files.by_task.items() for sha in paths.values()}
        shas: dict[str, set[str]] = {}
        for paths in files.by_task.values():
            for path, sha in paths.items():
                shas.setdefault(path, set()).add(sha)
        alike = {path: held.pop() for path, held in shas.items() if len(held) == 1}
        tasks = {known.task_id: known for known in run.tasks}

        def load(sha: str) -> bytes:
            return fetcher.bytes(tasks.get(holders[sha], task), sha, deadline)

        return self._workspaces.open(alike, load, deadline)

    def trust(self, platform: Platform, run: Run) -> Trust:
        """What the pool knows of its local tools' answers on this account and theme."""
        origin = f"{platform.name}:{platform.account()}"
        with self._lock:
            return self._trusts.setdefault((origin, run.theme), Trust(self.pool.redis, origin, run.theme))

    def ask_finish(self, lease: Lease) -> None:
        """Send a finish job for the run that ``lease`` belongs to."""
        self.pool.jobs.finish(lease.ref, lease.run.kind)

    def close(self) -> None:
        """Close what this process holds open."""
        for platform in self._platforms.values():
            platform.close()
        self.models.close()
        self._parsers.close()
        self.pool.close()

    def leave(self, status: int) -> None:
        """Take no more jobs, let those that can return do so, and exit. A supervisor has another ready."""
        with self._lock:
            if self.leaving:
                return
            self.leaving = True
        threading.Thread(target=self._leave, args=(status,), name="leave", daemon=True).start()

    def _leave(self, status: int) -> None:
        log.warning("process_leaves", status=status, live=self.leases.live(), stuck=self.leases.stuck())
        lifeline.tell_leaving()
        os.kill(os.getpid(), signal.SIGTERM)
        end = time.monotonic() + lifeline.WARM_SECONDS
        while self.leases.live() and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(_FAREWELL_SECONDS)  # where no solver is stuck, Celery ends the process in this time
        os._exit(status)

    def _count_stuck(self, count: int) -> None:
        log.error("solvers_stuck", count=count, most=self.most_stuck)
        if count >= self.most_stuck:
            self.leave(EXIT_STUCK)


_workers: dict[int, Worker] = {}
_making = threading.Lock()


def current(settings: Settings | None = None, name: str | None = None) -> Worker:
    """This process's worker. A forked child makes its own: nothing with a connection crosses a fork."""
    with _making:
        pid = os.getpid()
        if pid not in _workers:
            _workers.clear()
            _workers[pid] = Worker(settings or Settings.load(), name=name)
        return _workers[pid]
