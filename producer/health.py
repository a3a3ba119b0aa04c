"""What answers and what does not: Redis, workers, solvers, platform. For `doctor` and before runs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.deadline import Deadline
from shared.errors import ScrimmageError, SettingsError

if TYPE_CHECKING:
    from shared.models import RunRequest
    from shared.platforms.base import Platform
    from shared.pool.fleet import Heartbeat
    from shared.pool.pool import Pool
    from shared.settings import Settings

_STARTING_SECONDS = 8.0
"""From one worker's first heartbeat to the last one's, or from the start of another command's pool."""


@dataclass(frozen=True)
class Check:
    """One finding. ``ok`` is None where there was nothing to check."""

    what: str
    ok: bool | None
    detail: str

    @property
    def mark(self) -> str:
        return {True: "ok", False: "NO", None: "-"}[self.ok]


def checks(settings: Settings) -> Iterator[Check]:
    """Look at everything that the settings lead to. Costs one request to each platform that has a key."""
    from producer.local import running_pool

    settings = running_pool(settings) or settings
    yield from _redis_and_workers(settings)
    yield from _platforms(settings)
    yield _folder(settings)


def _redis_and_workers(settings: Settings) -> Iterator[Check]:
    from shared.pool.pool import Pool

    if settings.redis_url is None:
        yield Check(
            "redis", None, "no SCRIMMAGE_REDIS_URL: commands bring up an embedded server of their own"
        )
        return
    try:
        pool = Pool.connect(settings)
        live = pool.fleet.live()
    except ScrimmageError as error:
        yield Check("redis", False, str(error))
        return
    yield Check("redis", True, "answers")
    if settings.broker_url is not None:
        try:
            pool.jobs.ping()
            yield Check("broker", True, "answers")
        except ScrimmageError as error:
            yield Check("broker", False, str(error))
    if not live:
        yield Check("workers", False, "none alive: start `scrimmage worker` on this or another machine")
    for beat in live:
        solvers = ", ".join(sorted(beat.solvers)) or "none"
        yield Check(
            f"worker {beat.node}",
            True,
            f"{beat.role}, {beat.slots} slots, version {beat.version}, solvers: {solvers}",
        )


def _platforms(settings: Settings) -> Iterator[Check]:
    from shared.platforms import registry
    from shared.pool.pool import Pool

    for name in registry.platforms(settings):
        try:
            platform = registry.create(name, settings, Pool.connect(settings))
            platform.account()
        except SettingsError as error:
            yield Check(f"platform {name}", None, str(error))
            continue
        if settings.redis_url is None:
            yield Check(
                f"platform {name}", None, "a key is set; not asked, since the shared limit needs Redis"
            )
            continue
        try:
            seen = platform.runs(Deadline.after(10))
            yield Check(f"platform {name}", True, f"answers; it lists {len(seen)} runs of this key")
        except ScrimmageError as error:
            yield Check(f"platform {name}", False, str(error))


def _folder(settings: Settings) -> Check:
    folder = settings.archive
    base = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not os.access(base, os.W_OK):
        return Check("archive", False, f"{folder} cannot be written: set SCRIMMAGE_ARCHIVE to another folder")
    free = shutil.disk_usage(base).free
    return Check("archive", free > 200 * 2**20, f"{folder}, {free / 2**30:.1f} GiB free")


def require_workers(pool: Pool, platform: Platform, request: RunRequest) -> None:
    """Refuse to start a run that no live worker can serve. Workers that are just starting are waited for.

    Raises:
        SettingsError: says what is missing, and where.
    """
    patience = Deadline.after(_STARTING_SECONDS)
    while problems := _missing(live := pool.fleet.live(), platform, request):
        if _complete(live) or patience.passed:
            raise SettingsError("no live worker can play this run: " + "; ".join(problems))
        time.sleep(0.2)


def _complete(live: list[Heartbeat]) -> bool:
    """True where every part of a pool is there: what is missing then does not come by waiting."""
    roles = {beat.role for beat in live}
    return bool(roles & {"solve", "both"}) and bool(roles & {"finish", "both"})


def _missing(live: list[Heartbeat], platform: Platform, request: RunRequest) -> list[str]:
    if not live:
        return [
            "none is alive; start `scrimmage worker` (or `scrimmage up`) with the same SCRIMMAGE_REDIS_URL"
        ]
    solving = [beat for beat in live if beat.role in {"solve", "both", "final"}]
    problems = []
    if not solving:
        problems.append("no worker solves; start one with `--role solve`")
    if not any(beat.role in {"finish", "both"} for beat in live):
        problems.append("no worker finishes; start one with `--role finish`")
    lacking = [beat for beat in solving if request.solver not in beat.solvers]
    if solving and len(lacking) == len(solving):
        known = sorted({name for beat in solving for name in beat.solvers})
        problems.append(
            f"no worker has the solver {request.solver!r}; they have: {', '.join(known) or 'none'}"
        )
    account = platform.account()
    strangers = [beat.node for beat in live if beat.keys.get(platform.name) != account]
    if len(strangers) == len(live):
        problems.append(
            f"no worker has this key for {platform.name}; set the same key and URL on "
            + ", ".join(sorted(strangers)[:4])
        )
    return problems
