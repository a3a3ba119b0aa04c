"""The data folder of an embedded server: it must be writable, have room, and belong to one server at a time.

The lock is a ``flock`` on the file ``lock``. The server process inherits it, so it is held exactly as long
as a server writes there, even if its starter was killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from pathlib import Path
from typing import IO

from shared.errors import SettingsError

_LOCK_SECONDS = 3.0  # a server whose starter was killed needs a moment to end
_LEAST_FREE_BYTES = 16 * 2**20


def check(folder: Path) -> None:
    """Make the folder where it is missing. Raises SettingsError if it cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.write_bytes(b"x" * 4096)
        probe.unlink()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise SettingsError(f"cannot write to the data folder {folder}: {error.strerror}") from None
    if free < _LEAST_FREE_BYTES:
        raise SettingsError(f"the disk of the data folder {folder} is full: {free // 2**20} MiB are free")


def lock(folder: Path) -> IO[str]:
    """Take the folder; close the file to give it back. Raises SettingsError if a server has it."""
    file = (folder / "lock").open("a+", encoding="utf-8")
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            file.close()
            url = (folder / "lock").read_text(encoding="utf-8")
            raise SettingsError(
                f"the data folder {folder} is in use by a server"
                + (f" at {url}: use that one (SCRIMMAGE_REDIS_URL)" if url else "")
                + ", or choose another folder (SCRIMMAGE_DATA)"
            ) from None


def sign(file: IO[str], url: str) -> None:
    """Write into a lock that was taken where its server answers."""
    file.seek(0)
    file.truncate()
    file.write(url)
    file.flush()


def holder(folder: Path) -> str | None:
    """URL of the server that has the folder; None where none has."""
    path = folder / "lock"
    if not path.exists():
        return None
    with path.open("r", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read() or None
        return None
