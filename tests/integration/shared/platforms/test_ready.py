"""A process makes its client once, and before it books a request: to make one takes long.

A burst whose first requests are late arrives closer together than it was granted, and meets a 429.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from shared.deadline import Deadline
from shared.models import Limits, RunRef
from shared.platforms.http import Http
from shared.platforms.origin import Origin
from shared.pool.bucket import Bucket, Lane
from shared.pool.connection import Patient
from tests.support.scripted import ScriptedServer, reply

THREADS = 8


class Told:
    """What happened, in order."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def headers(self) -> dict[str, str]:
        self.words.append("made")
        return {}


class TellingBucket(Bucket):
    def __init__(self, patient: Patient, told: Told) -> None:
        super().__init__(patient, "telling", Limits(1000, 1000), margin_tokens=0, margin_rate=0)
        self._told = told

    def acquire(self, lane: Lane, deadline: Deadline, *, run: RunRef | None = None) -> None:
        self._told.words.append("booked")
        super().acquire(lane, deadline, run=run)


def test_threads_that_begin_together_make_one_client() -> None:
    told, together = Told(), Barrier(THREADS)
    origin = Origin("http://127.0.0.1:9", name="x", headers=told.headers, connections=1, timeout=1.0)

    def begin(_: int) -> None:
        together.wait(10)
        origin.ready()

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(begin, range(THREADS)))
    origin.close()
    assert told.words == ["made"]


def test_it_is_made_before_a_request_is_booked(server: ScriptedServer, patient: Patient) -> None:
    told = Told()
    server.on("GET", "/file", reply(b"x"))
    origin = Origin(server.url, name="x", headers=told.headers, connections=1, timeout=5.0)
    bucket = TellingBucket(patient, told)
    http = Http(origin, bucket=lambda: bucket)

    http.raw("/file", lane=Lane.FETCH, deadline=Deadline.after(10), limit=10)
    http.close()
    bucket.close()
    assert told.words[:2] == ["made", "booked"]
