"""Single flight with real threads and real processes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from shared.deadline import Deadline
from shared.errors import CapReached, DeadlinePassed, NotFound, ScrimmageError, Unavailable
from shared.pool import keys
from shared.pool.connection import Patient
from shared.pool.flights import Flights

FLYER = """
import os, sys, time
from shared.deadline import Deadline
from shared.pool.connection import Patient, connect
from shared.pool.flights import Flights

for _ in range(int(sys.argv[3]) - 1):
    if os.fork() == 0:
        break
client = connect(sys.argv[1])

def say(word):
    os.write(1, f"{word}\\n".encode())  # in one piece: processes share the pipe

def work():
    client.incr("worked")
    say("working")
    time.sleep(float(sys.argv[2]))
    client.set("thing", "made")
    return "made"

say("ready")
os.read(0, len("go\\n"))
flights = Flights(Patient(client), lease=1.0)
say(flights.fly("thing", work, lambda: client.get("thing"), Deadline.after(30)))
"""


class Flyer:
    """A process that wants the thing; ``seconds`` is how long its own work would take.

    ``processes`` of them share its pipes.
    """

    def __init__(self, url: str, seconds: float, processes: int = 1) -> None:
        self._processes = processes
        self.process = subprocess.Popen(
            [sys.executable, "-c", FLYER, url, str(seconds), str(processes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def expect(self, line: str) -> None:
        assert self.process.stdout
        assert self.process.stdout.readline().strip() == line

    def go(self) -> None:
        """Let them begin, when all are ready."""
        for _ in range(self._processes):
            self.expect("ready")
        assert self.process.stdin
        self.process.stdin.write("go\n" * self._processes)
        self.process.stdin.flush()

    def end(self) -> list[str]:
        """What it said from now on. Not by communicate(), which loses what readline() has buffered."""
        assert self.process.stdout
        return self.process.stdout.read().split()


@pytest.fixture
def fly(redis_url: str) -> Iterator[Callable[..., Flyer]]:
    """Makes flyers, and ends them with the test."""
    flyers: list[Flyer] = []

    def make(seconds: float, processes: int = 1) -> Flyer:
        flyers.append(Flyer(redis_url, seconds, processes))
        return flyers[-1]

    yield make
    for flyer in flyers:
        flyer.process.kill()
        flyer.process.communicate()


def test_eight_processes_that_want_one_thing_make_it_once(
    fly: Callable[..., Flyer], redis_client: redis.Redis
) -> None:
    flyers = fly(0.5, processes=8)
    flyers.go()
    assert sorted(flyers.end()) == ["made"] * 8 + ["working"]
    assert redis_client.get("worked") == "1"


def test_a_leader_that_is_killed_is_replaced_within_its_lease(
    fly: Callable[..., Flyer], redis_client: redis.Redis
) -> None:
    leader, waiter = fly(60), fly(0)
    leader.go()
    leader.expect("working")
    waiter.go()
    killed = time.monotonic()
    leader.process.kill()
    assert waiter.end() == ["working", "made"]
    assert time.monotonic() - killed < 5
    assert redis_client.get("worked") == "2"


def test_a_leader_keeps_its_lease_for_as_long_as_it_works(
    fly: Callable[..., Flyer], redis_client: redis.Redis
) -> None:
    leader, waiter = fly(2.5), fly(0)  # the lease is 1 s
    leader.go()
    leader.expect("working")
    waiter.go()
    assert waiter.end() == ["made"]
    assert redis_client.get("worked") == "1"


@pytest.fixture
def flights(patient: Patient) -> Flights:
    return Flights(patient, lease=1.0)


def never() -> None:
    return None


def test_what_has_landed_already_is_not_made(flights: Flights) -> None:
    def work() -> str:
        raise AssertionError("not wanted")

    assert flights.fly("thing", work, lambda: "there", Deadline.after(1)) == "there"


@pytest.mark.parametrize(
    ("failure", "seen"),
    [
        (Unavailable("the arena answers 503", after=7.0), Unavailable),
        (NotFound("no such blob", status=404), NotFound),
        (ValueError("with a secret inside"), Unavailable),
    ],
)
def test_those_who_wait_for_a_failed_flight_raise_its_failure_and_do_not_try_in_turn(
    flights: Flights, failure: Exception, seen: type[ScrimmageError]
) -> None:
    tries = []
    leading, fail = threading.Event(), threading.Event()

    def work() -> str:
        tries.append(1)
        leading.set()
        fail.wait(10)
        raise failure

    with ThreadPoolExecutor(6) as workers:
        leader = workers.submit(flights.fly, "thing", work, never, Deadline.after(20))
        leading.wait(10)
        waiters = [workers.submit(flights.fly, "thing", work, never, Deadline.after(20)) for _ in range(5)]
        fail.set()
        assert leader.exception() is failure
        for waiter in waiters:
            error = waiter.exception()
            assert type(error) is seen
            assert "secret" not in str(error)
            assert getattr(error, "after", None) == getattr(failure, "after", None)
            assert getattr(error, "status", None) == getattr(failure, "status", None)
    assert len(tries) == 1


def test_a_failure_is_forgotten_after_a_few_seconds(
    flights: Flights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.pool.flights._FAILED_SECONDS", 0.1)

    def fail() -> str:
        raise Unavailable("not now")

    with pytest.raises(Unavailable):
        flights.fly("thing", fail, never, Deadline.after(5))
    time.sleep(0.11)
    assert flights.fly("thing", lambda: "made", never, Deadline.after(5)) == "made"


@pytest.mark.parametrize("lacking", [DeadlinePassed("no time left"), CapReached("no money left")])
def test_a_leader_without_time_or_money_leaves_the_lead_to_the_next(
    flights: Flights, lacking: ScrimmageError
) -> None:
    def give_up() -> str:
        raise lacking

    with pytest.raises(type(lacking)):
        flights.fly("thing", give_up, never, Deadline.after(5))
    assert flights.fly("thing", lambda: "made", never, Deadline.after(0.5)) == "made"


def test_waiting_ends_at_the_deadline(flights: Flights) -> None:
    leading, done = threading.Event(), threading.Event()

    def work() -> str:
        leading.set()
        done.wait(10)
        return "made"

    with ThreadPoolExecutor(1) as workers:
        leader = workers.submit(flights.fly, "thing", work, never, Deadline.after(20))
        leading.wait(10)
        with pytest.raises(DeadlinePassed, match="thing"):
            flights.fly("thing", work, never, Deadline.after(0.3))
        done.set()
        assert leader.result() == "made"


def test_what_landed_and_was_lost_at_once_is_made_again(flights: Flights) -> None:
    made: list[int] = []

    def work() -> int:
        made.append(1)
        return len(made)

    assert flights.fly("thing", work, never, Deadline.after(5)) == 1
    began = time.monotonic()
    assert flights.fly("thing", work, never, Deadline.after(5)) == 2
    assert time.monotonic() - began < 2


def test_flights_that_are_over_leave_nothing_behind(
    flights: Flights, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.pool.flights._LANDED_SECONDS", 0.05)
    for number in range(5):
        flights.fly(f"thing-{number}", lambda: "made", never, Deadline.after(5))
    time.sleep(0.06)
    flights.fly("last", lambda: "made", never, Deadline.after(5))
    assert redis_client.keys(keys.flight("*")) == [keys.flight("last")]
    assert redis_client.zrange(keys.FLIGHTS, 0, -1) == [keys.flight("last")]
    assert redis_client.ttl(keys.flight("last")) == -1


def test_no_thread_stays_behind(flights: Flights) -> None:
    before = threading.active_count()
    flights.fly("thing", lambda: "made", never, Deadline.after(5))
    assert threading.active_count() == before
