"""Reads a bundle: the zip of one task's workspace. Pure, in memory, and safe from what a zip can do.

Nothing of the zip's own claims is believed. Only files that the manifest lists are read, each to a bound that
follows from its listed size, and each counts only if its sha256 is the listed one. So neither ``../`` nor
links nor bombs nor entries that lie about themselves lead anywhere: they are not read.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Collection, Mapping

from shared.pool.listings import most_bytes

ENTRIES = 20_000
"""Entries of a bundle that are looked at."""


def unpack(
    bundle: bytes, paths: Mapping[str, str], sizes: Mapping[str, int], wanted: Collection[str], limit: int
) -> dict[str, bytes]:
    """The wanted files that the bundle truly holds.

    Args:
        bundle: a zip; anything else gives nothing.
        paths: path → sha256 as the manifest lists them.
        sizes: bytes by sha256, where known.
        wanted: sha256 of the files that are asked for.
        limit: bytes of any file.

    Returns:
        sha256 → bytes, verified. Files that are missing, changed or damaged are not in it.
    """
    found: dict[str, bytes] = {}
    by_name = {path.lstrip("/"): sha for path, sha in paths.items() if sha in wanted}
    try:
        archive = zipfile.ZipFile(io.BytesIO(bundle))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return found
    with archive:
        for entry in archive.infolist()[:ENTRIES]:
            sha = _listed(entry.filename, by_name)
            if sha is None or sha in found:
                continue
            data = _read(archive, entry, most_bytes(sizes.get(sha), limit))
            if data is not None and hashlib.sha256(data).hexdigest() == sha:
                found[sha] = data
    return found


def _listed(name: str, by_name: Mapping[str, str]) -> str | None:
    """The hash listed for an entry. The text does not say whether the zip has a folder above the files."""
    name = name.lstrip("/")
    return by_name.get(name) or by_name.get(name.partition("/")[2])


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes | None:
    """The first ``limit`` bytes of an entry, None where it is encrypted or damaged."""
    if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        return None  # of bzip2 and lzma, zipfile inflates whole chunks whatever the limit
    try:
        with archive.open(entry) as file:
            return file.read(limit)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, NotImplementedError):
        return None
