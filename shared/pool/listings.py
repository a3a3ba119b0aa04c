"""The files of each run, as its platform listed them: asked for once in the whole pool, kept with the run."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from shared.models import RunRef
from shared.pool import keys
from shared.pool.connection import Patient

_MORE = 4096


@dataclass(frozen=True)
class Listing:
    """Which files each task of a run has.

    Args:
        by_task: task id → path → sha256.
        sizes: bytes by sha256, where known.
    """

    by_task: Mapping[str, Mapping[str, str]]
    sizes: Mapping[str, int]


def most_bytes(size: int | None, limit: int) -> int:
    """Bytes of a file that are read at most. Its hash is the proof, its size a hint: a platform that counts
    characters names down to a fourth of the bytes.

    Args:
        size: as listed, None where it is not.
        limit: for files of unknown size, and for all.
    """
    return limit if size is None else min(limit, 4 * size + _MORE)


class Listings:
    """Keeps listings in Redis.

    Args:
        patient: with decoded replies.
    """

    def __init__(self, patient: Patient) -> None:
        self._patient = patient

    def get(self, ref: RunRef) -> Listing | None:
        """The run's listing, None where nobody asked the platform for it yet."""
        stored = self._patient.do(lambda client: client.get(keys.listing(ref)))
        if stored is None:
            return None
        held = json.loads(zlib.decompress(base64.b64decode(stored)))
        return Listing(held["tasks"], held["sizes"])

    def put(self, ref: RunRef, listing: Listing) -> None:
        held = json.dumps({"tasks": listing.by_task, "sizes": listing.sizes})
        packed = base64.b64encode(zlib.compress(held.encode()))
        self._patient.do(lambda client: client.set(keys.listing(ref), packed))
