"""Which pool a command uses, and bringing one up on this machine: embedded Redis, workers, Flower.

A command uses the pool that the settings name, else the one that another command of this folder has up, else
one of its own, which ends with it. What was begun is kept in the data folder: the next pool of the folder
goes on with it.

By three files of the data folder commands know of each other:

``redis/lock``  locked as long as a server runs on the folder (``shared.pool.folder``)
``pool.json``   there while that server has workers: other commands may join
``joined``      locked by every command that joined; the one whose pool it is waits for them at its end
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from producer.children import Say, Workers, kept_alive, start_flower, stop
from producer.interrupt import Interrupted
from shared.deadline import Deadline
from shared.errors import SettingsError
from shared.settings import Settings, without_secrets

if TYPE_CHECKING:
    from shared.pool.pool import Pool

_FREE_SECONDS = 90.0
"""So long another command may take to look at this folder's pool, to bring one up, or to end one."""

_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class LocalPool:
    """A pool at hand.

    ``settings`` lead to it. ``own``: it was brought up here, and ends here. ``staff`` gives it workers where
    it is our own, and looks whether broker and cache answer; it raises what ``servers.check_redis`` raises,
    and Unavailable where the workers do not come up.
    """

    settings: Settings
    pool: Pool
    own: bool
    staff: Callable[[], None]


@contextmanager
def any_pool(settings: Settings, say: Say) -> Iterator[LocalPool]:
    """The pool that the settings name, or the one of this folder, or one of our own that has no workers yet.

    Our own stays up until the commands that joined it have ended too, unless a person interrupts this one.

    Args:
        say: is told each step, for a person.

    Raises:
        SettingsError: the data folder cannot be used, no server binary was found, Redis cannot be used.
        Unavailable: Redis does not answer.
    """
    if settings.redis_url is not None:
        with _at(settings, say) as configured:
            yield configured
        return
    with _file(settings, "joined") as joined, ExitStack() as stack:
        found = _join_or_bring_up(settings, joined, say, stack)
        try:
            yield found
        finally:
            if found.own and not isinstance(sys.exception(), Interrupted):
                _wait_for_those_that_joined(joined, say)


@contextmanager
def local_pool(
    settings: Settings, say: Say, *, workers: bool = True, flower: bool = False
) -> Iterator[LocalPool]:
    """Bring up what the settings do not name already, and stop it at the end.

    Args:
        settings: ``redis_url`` None: an embedded server in ``settings.data`` is started.
        workers: start worker processes at once; else ``staff`` does.
        flower: start Flower too.

    Raises:
        SettingsError: the data folder cannot be used, or is in use; no server binary was found.
        Unavailable: a server does not answer, or the workers did not come up in time.
    """
    from producer.servers import check_broker_and_cache, check_redis
    from shared.pool import folder
    from shared.pool.pool import Pool
    from shared.pool.server import RedisServer

    folder.check(settings.data)
    embedded = settings.redis_url is None
    staffed = False
    with ExitStack() as stack:
        if settings.redis_url is None:
            began = time.monotonic()
            server = stack.enter_context(RedisServer.start(settings.data / "redis"))
            stack.enter_context(kept_alive(server, say))
            settings = settings.model_copy(update={"redis_url": server.url})
            say(f"redis    {server.url} ({(time.monotonic() - began) * 1000:.0f} ms, log {server.log})")
        else:
            check_redis(settings.redis_url)
        pool = stack.enter_context(Pool.connect(settings))

        def staff() -> None:
            nonlocal staffed
            check_broker_and_cache(settings, pool)
            before = {beat.node for beat in pool.fleet.live()}
            started = Workers(settings, say)
            stack.callback(started.stop)
            staffed = True
            started.wait_until_up(pool, before)
            if embedded:
                stack.enter_context(announced(settings))

        if workers:
            staff()
        if flower:
            stack.callback(stop, start_flower(settings, say))
        try:
            yield LocalPool(settings, pool, own=True, staff=staff)
        except Interrupted:
            if staffed:
                say("interrupted: the workers end what they are at (Ctrl-C again does not wait for them)")
            raise


@contextmanager
def _at(settings: Settings, say: Say) -> Iterator[LocalPool]:
    """The pool that runs where the settings say."""
    from producer.servers import check_broker_and_cache, check_redis
    from shared.pool.pool import Pool

    assert settings.redis_url is not None
    check_redis(settings.redis_url)
    say(f"pool     {without_secrets(settings.redis_url)}")
    with Pool.connect(settings) as pool:
        yield LocalPool(settings, pool, own=False, staff=lambda: check_broker_and_cache(settings, pool))


def _join_or_bring_up(settings: Settings, joined: IO[str], say: Say, stack: ExitStack) -> LocalPool:
    """The pool that runs in this folder, or one of our own; while neither can be had, another command
    is at the beginning or at the end of its own."""
    deadline = Deadline.after(_FREE_SECONDS)
    told = False
    while True:
        running = running_pool(settings)
        if running is None:
            try:
                return stack.enter_context(local_pool(settings, say, workers=False))
            except SettingsError:
                if deadline.passed or _server(settings) is None:
                    raise
        elif _lock(joined, fcntl.LOCK_SH) and running_pool(settings) == running:
            return stack.enter_context(_at(running, say))
        fcntl.flock(joined, fcntl.LOCK_UN)
        deadline.check(f"waiting for the pool of {settings.data}, which another command has")
        if not told:
            say(f"another command has the pool of {settings.data} just now: waiting for it")
            told = True
        time.sleep(_LOOK_SECONDS)


def _wait_for_those_that_joined(joined: IO[str], say: Say) -> None:
    """Returns with the lock held: nobody joins any more. Those that did wait for nothing without a bound."""
    told = False
    while not _lock(joined, fcntl.LOCK_EX):
        if not told:
            say("another command still plays on this pool: it stays up until then (Ctrl-C stops it now)")
            told = True
        time.sleep(_LOOK_SECONDS)


def _file(settings: Settings, name: str) -> IO[str]:
    from shared.pool import folder

    folder.check(settings.data)
    return (settings.data / name).open("a")


def _server(settings: Settings) -> str | None:
    """URL of the server that runs on this folder, whoever started it."""
    from shared.pool.server import RedisServer

    return RedisServer.running(settings.data / "redis")


def _lock(file: IO[str], how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def running_pool(settings: Settings) -> Settings | None:
    """Settings of the pool, workers and all, that another command of this folder has up; None: no such."""
    try:
        found = json.loads(_announcement(settings).read_bytes())
        os.kill(int(found["pid"]), 0)
        url = str(found["redis_url"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # After a crash the pid may be another process's by now; the lock on the folder is nobody else's.
    return settings.model_copy(update={"redis_url": url}) if _server(settings) == url else None


@contextmanager
def announced(settings: Settings) -> Iterator[None]:
    """Tell other commands of the folder of the pool at ``settings.redis_url``, which this process has up."""
    path = _announcement(settings)
    path.write_text(json.dumps({"pid": os.getpid(), "redis_url": settings.redis_url}))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _announcement(settings: Settings) -> Path:
    return settings.data / "pool.json"
