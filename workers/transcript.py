"""What one attempt at a task tells of itself, kept in memory and handed to the pool, bounded and masked."""

from __future__ import annotations

import json
import time
import traceback
from typing import Any

import structlog

from shared.errors import Unavailable
from shared.models import JsonObject, RunRef, plain
from shared.pool.transcript import Transcripts
from workers.logs import Mask, bounded

MOST_ENTRIES = 2000
LONGEST_TEXT = 8000

log = structlog.get_logger(__name__)


class Transcript:
    """The entries of one attempt. Safe to call from several threads.

    Every text in it is masked and bounded; an entry is a JSON object with ``at`` (seconds since the epoch),
    ``attempt`` and ``event``.
    """

    def __init__(self, kept: Transcripts, ref: RunRef, task_id: str, attempt: int, mask: Mask) -> None:
        self._kept = kept
        self._ref = ref
        self._task_id = task_id
        self._attempt = attempt
        self._mask = mask
        self._entries: list[JsonObject] = []
        self._left_out = 0

    def add(self, event: str, /, **data: Any) -> None:
        """Note ``event`` with its data; what JSON cannot say is noted as its repr."""
        if len(self._entries) >= MOST_ENTRIES:
            self._left_out += 1
            return
        entry: JsonObject = {"at": round(time.time(), 3), "attempt": self._attempt, "event": event}
        entry.update({key: self._value(value) for key, value in data.items() if key not in entry})
        self._entries.append(entry)

    def failure(self, event: str, error: BaseException, /) -> None:
        """Note an error with its traceback."""
        self.add(
            event,
            error=f"{type(error).__name__}: {error}",
            traceback="".join(traceback.format_exception(error)),
        )

    def flush(self) -> None:
        """Hand the entries to the pool. A pool that is away costs the entries, never the task."""
        entries, self._entries = self._entries, []
        if self._left_out:
            entries.append({"event": "left_out", "attempt": self._attempt, "entries": self._left_out})
            self._left_out = 0
        if not entries:
            return
        try:
            self._kept.append(self._ref, self._task_id, entries)
        except Unavailable as error:
            log.warning("transcript_lost", run=str(self._ref), task=self._task_id, reason=str(error))

    def _value(self, value: Any) -> Any:
        try:
            data = self._mask.value(plain(value))
        except ValueError:
            data = self._mask.text(repr(value))
        if isinstance(data, str):
            return bounded(data, LONGEST_TEXT)
        if len(text := json.dumps(data, ensure_ascii=False)) > LONGEST_TEXT:
            return bounded(text, LONGEST_TEXT)
        return data
