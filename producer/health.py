"""What answers and what does not: Redis, workers, solvers, platform. For `doctor` and before runs."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from shared import registered
from shared.deadline import Deadline
from shared.errors import Refused, ScrimmageError, SettingsError

if TYPE_CHECKING:
    from producer.local import LocalPool
    from shared.models import RunRequest
    from shared.platforms.base import Platform
    from shared.pool.fleet import Heartbeat
    from shared.pool.pool import Pool
    from shared.settings import Settings

_STARTING_SECONDS = 8.0
"""From one worker's first heartbeat to the last one's."""

_LEAST_FREE = 200 * 2**20


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
    """Look at everything that the settings lead to. Costs one request to each platform that has a key.

    Where no pool is up the embedded Redis is started for it; no worker is.
    """
    from producer.local import any_pool

    try:
        with any_pool(settings, lambda _: None) as local:
            yield from _servers(local)
            platforms, accounts = _platforms(local)
            yield from _workers(local, accounts)
            yield from platforms
    except ScrimmageError as error:
        yield Check("redis", False, str(error))
        yield Check("workers, platforms", None, "not asked: all that they do goes through Redis")
    yield _folder(settings)


def _servers(local: LocalPool) -> Iterator[Check]:
    from producer.servers import check_broker_and_cache, check_redis

    settings = local.settings
    assert settings.redis_url is not None
    version = check_redis(settings.redis_url)
    yield Check("redis", True, f"{version}, {'embedded, starts when needed' if local.own else 'answers'}")
    if settings.broker_url is not None or settings.cache_url is not None:
        try:
            check_broker_and_cache(settings, local.pool)
            yield Check("broker, cache", True, "answer")
        except ScrimmageError as error:
            yield Check("broker, cache", False, str(error))


def _platforms(local: LocalPool) -> tuple[list[Check], dict[str, str]]:
    """What each platform says, and the fingerprints of the keys that are set here, by platform."""
    from shared.platforms import registry

    found: list[Check] = []
    accounts: dict[str, str] = {}
    for name in registry.platforms(local.settings):
        what = f"platform {name}"
        try:
            platform = registry.create(name, local.settings, local.pool)
            accounts[name] = platform.account()
        except SettingsError as error:
            found.append(Check(what, None, str(error)))
            continue
        try:
            seen = platform.runs(Deadline.after(10))
            found.append(Check(what, True, f"answers; it lists {len(seen)} runs of this key"))
        except Refused as error:
            found.append(Check(what, False, f"refuses: {error}; the key's origin is in the list above"))
        except ScrimmageError as error:
            found.append(Check(what, False, f"{error}; is its URL in the list above right?"))
        finally:
            platform.close()
    return found, accounts


def _workers(local: LocalPool, accounts: Mapping[str, str]) -> Iterator[Check]:
    live = local.pool.fleet.live()
    if not live and local.own:
        yield Check("workers", None, "none needed now: `up`, `run`, `sweep` and `final` start their own")
    elif not live:
        yield Check("workers", False, "none alive: start `scrimmage worker` on this or another machine")
    for beat in live:
        strange = [name for name, account in accounts.items() if beat.keys.get(name) != account]
        detail = f"{beat.role}, {beat.slots} slots, version {beat.version}, "
        detail += f"solvers: {', '.join(sorted(beat.solvers)) or 'none'}"
        if strange:
            detail += f"; has another key or URL than here for {', '.join(strange)}: set the same"
        yield Check(f"worker {beat.node}", not strange, detail)


def _folder(settings: Settings) -> Check:
    folder = settings.archive
    base = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not base.is_dir() or not os.access(base, os.W_OK):
        return Check("archive", False, f"{folder} cannot be written: set SCRIMMAGE_ARCHIVE to another folder")
    free = shutil.disk_usage(base).free
    if free < _LEAST_FREE:
        detail = f"only {free / 2**20:.0f} MiB are free for {folder}: make room, or set SCRIMMAGE_ARCHIVE"
        return Check("archive", False, detail)
    return Check("archive", True, f"{folder}, {free / 2**30:.1f} GiB free")


def require_names(settings: Settings, requests: Iterable[RunRequest]) -> None:
    """Refuse a platform or solver that nobody has, before anything is started.

    A solver is looked for only where the workers will be our own: others know theirs.

    Raises:
        SettingsError: says which are known.
    """
    from producer.local import running_pool

    own = settings.redis_url is None and running_pool(settings) is None
    platforms = registered.registered("platform", settings.platforms)
    solvers = registered.registered("solver", settings.solvers)
    for platform, solver in {(request.platform, request.solver): None for request in requests}:
        registered.path("platform", platform, platforms)
        if own:
            module = registered.path("solver", solver, solvers).partition(":")[0].partition(".")[0]
            if PathFinder.find_spec(module, [str(Path.cwd()), *sys.path]) is None:
                raise SettingsError(
                    f"solver {solver!r}: there is no module {module!r} in {Path.cwd()} or installed"
                )


def require_workers(
    pool: Pool, platform: Platform, request: RunRequest, waiting: Callable[[str], None] = lambda _: None
) -> None:
    """Refuse to start a run that no live worker can serve. Workers that are just starting are waited for.

    Args:
        waiting: is told what is waited for, if that takes more than a moment.

    Raises:
        SettingsError: says what is missing, and where.
    """
    patience, moment = Deadline.after(_STARTING_SECONDS), Deadline.after(1.0)
    while problems := _missing(live := pool.fleet.live(), platform, request):
        if _complete(live) or patience.passed:
            raise SettingsError("no live worker can play this run: " + "; ".join(problems))
        if moment.passed:
            waiting(f"waiting {patience.left():.0f} s for workers: " + "; ".join(problems))
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
            f"no worker has the solver {request.solver!r}, or its module is not found where they run; "
            f"they have: {', '.join(known) or 'none'}"
        )
    account = platform.account()
    strangers = [beat.node for beat in live if beat.keys.get(platform.name) != account]
    if len(strangers) == len(live):
        problems.append(
            f"no worker has this key for {platform.name}; set the same key and URL on "
            + ", ".join(sorted(strangers)[:4])
        )
    return problems
