"""In which lane of the bucket a request goes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shared.deadline import Deadline
from shared.models import Limits, RunRef
from shared.platforms.arena.client import ArenaClient
from shared.platforms.http import Http
from shared.platforms.origin import Origin
from shared.pool.bucket import Bucket, Lane
from shared.pool.connection import Patient
from tests.support.scripted import ScriptedServer, reply

REF = RunRef(platform="arena", run_id="run_1")


class NotingBucket(Bucket):
    """A bucket that remembers in which lanes it was asked."""

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient, "noting", Limits(1000, 1000), margin_tokens=0, margin_rate=0)
        self.lanes: list[Lane] = []

    def acquire(self, lane: Lane, deadline: Deadline, *, run: RunRef | None = None) -> None:
        self.lanes.append(lane)
        super().acquire(lane, deadline, run=run)


@pytest.fixture
def bucket(patient: Patient) -> Iterator[NotingBucket]:
    made = NotingBucket(patient)
    yield made
    made.close()


@pytest.fixture
def client(server: ScriptedServer, bucket: NotingBucket) -> Iterator[ArenaClient]:
    origin = Origin(server.url, name="arena", headers=dict, connections=4, timeout=5.0)
    made = ArenaClient(Http(origin, bucket=lambda: bucket))
    yield made
    made.close()


@pytest.mark.parametrize(("write", "lane"), [(True, Lane.FINISH), (False, Lane.TOOLS)])
def test_an_effect_goes_in_the_lane_of_the_look_before_it(
    server: ScriptedServer, bucket: NotingBucket, client: ArenaClient, write: bool, lane: Lane
) -> None:
    server.on("POST", "/runs/run_1/tasks/t01/tools/write", reply({"ok": True}))
    server.on("GET", "/runs/run_1", reply({"run_id": "run_1"}))
    deadline = Deadline.after(10)

    client.run(REF, deadline)
    client.call_tool(REF, "t01", "write", {}, deadline, write=write)
    assert bucket.lanes == [Lane.FINISH, lane]
