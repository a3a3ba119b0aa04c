"""Do the servers that the settings name answer, and can they be used? Asked before anything is begun on them.

Once runs are under way servers that are away are waited for; before that a quick word on what is wrong is
worth more.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

from redis.exceptions import AuthenticationError, RedisError, ResponseError

from shared.errors import SettingsError, Unavailable
from shared.pool.connection import UNTRUSTED, address, connect, untrusted
from shared.pool.pool import Pool
from shared.settings import Settings

_OLDEST = (6, 2)  # GETEX


def check_redis(url: str, setting: str = "SCRIMMAGE_REDIS_URL") -> str:
    """Ask a Redis for its version, and to run a script. Returns its name and version (``valkey 9.1.2``).

    Args:
        setting: what names the server, for messages.

    Raises:
        SettingsError: it refuses access, is too old, or runs no scripts.
        Unavailable: it does not answer within seconds.
    """
    where = f"Redis at {address(url)}"
    try:
        made = connect(url)
    except SettingsError as error:
        raise SettingsError(f"{setting}: {error}") from None
    with contextlib.closing(made) as client:
        try:
            info: Any = client.info("server")
            client.eval("return 1", 0)
        except AuthenticationError as error:
            raise SettingsError(f"{where} refuses access ({error}): check user and password") from None
        except ResponseError as error:
            raise SettingsError(f"{where} cannot be used: {error}") from None
        except RedisError as error:
            if UNTRUSTED in str(error):
                raise SettingsError(untrusted(where)) from None
            raise Unavailable(f"{where} does not answer ({error}): is it up, and {setting} right?") from None
    version = str(info.get("redis_version"))
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < _OLDEST:
        raise SettingsError(f"{where} has version {version}: it must be 6.2 or newer, or Valkey")
    return f"valkey {info['valkey_version']}" if "valkey_version" in info else f"redis {version}"


def check_broker_and_cache(settings: Settings, pool: Pool) -> None:
    """What workers need beside the pool's Redis, where it has servers of its own.

    Raises:
        SettingsError, Unavailable: as ``check_redis``.
    """
    if settings.cache_url not in {None, settings.redis_url}:
        check_redis(str(settings.cache_url), "SCRIMMAGE_CACHE_URL")
    if settings.broker_url not in {None, settings.redis_url}:
        pool.jobs.ping()
