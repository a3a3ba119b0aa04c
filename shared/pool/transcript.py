"""Transcripts: what solvers and models said on a task, kept in the ledger's Redis until archived.

One compressed field per task, of bounded size: what does not fit is counted, not kept.
"""

from __future__ import annotations

import base64
import json
import uuid
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from shared.models import RunRef
from shared.pool import keys
from shared.pool.connection import Patient

MOST_BYTES = 1 << 20
"""Bytes of one task's transcript, as stored."""


class Transcripts:
    """The transcripts of all runs."""

    def __init__(self, patient: Patient, *, most_bytes: int = MOST_BYTES) -> None:
        self._patient = patient
        self._append = patient.script("transcript_append")
        self._most_bytes = most_bytes

    def append(self, ref: RunRef, task_id: str, entries: Sequence[Mapping[str, Any]]) -> None:
        """Add entries, in order. What JSON does not know is kept as text. A removed run gets nothing."""
        if not entries:
            return
        text = json.dumps(list(entries), ensure_ascii=False, default=str)
        chunk = base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"))).decode("ascii")
        names = [keys.run(ref), keys.transcripts(ref)]
        self._append(names, [task_id, uuid.uuid4().hex, chunk, len(entries), self._most_bytes])

    def read(self, ref: RunRef, task_id: str) -> list[dict[str, Any]]:
        """The entries of a task; a last one says how many did not fit, if any."""
        fields = [f"lines:{task_id}", f"dropped:{task_id}"]
        stored: Any = self._patient.do(lambda client: client.hmget(keys.transcripts(ref), fields))
        entries: list[dict[str, Any]] = []
        for chunk in (stored[0] or "").split():
            text = zlib.decompress(base64.b64decode(chunk)).decode("utf-8", "surrogatepass")
            entries += json.loads(text)
        if stored[1]:
            entries.append({"event": "transcript.full", "dropped": int(stored[1])})
        return entries
