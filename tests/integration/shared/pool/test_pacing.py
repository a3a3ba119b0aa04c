"""How many calls a key may have open: found out together, given back by the dead, in order of arrival."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from structlog.testing import capture_logs

from shared.deadline import Deadline
from shared.errors import DeadlinePassed, Unavailable
from shared.pool import keys
from shared.pool.connection import Patient
from shared.pool.pacing import Pacing, Slot
from tests.support.ledger import HandClock

SECOND = 1_000_000
MOST = 64
START = 8

Call = Callable[..., list[int]]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def call(patient: Patient, clock: HandClock) -> Call:
    """One action of the script at the time of the hand clock, with leases of ten seconds."""
    script = patient.script("pacing")
    named = [key("k") for key in (keys.pacing, keys.pacing_slots, keys.pacing_queue, keys.pacing_asked)]

    def call(action: str, *args: str | int, most: int = MOST) -> list[int]:
        reply: list[int] = script(named, [clock(), action, most, *args])
        return reply

    return call


def ask(call: Call, ticket: str) -> bool:
    return bool(call("ask", ticket, 10 * SECOND)[0])


def test_it_grows_by_one_in_a_round_while_all_slots_are_in_use(call: Call) -> None:
    for grown in range(1, 4):
        limit = call("look")[0]
        waiting = f"waiting-{grown}"
        tickets = [f"t{number}" for number in range(limit)]
        assert all(ask(call, ticket) for ticket in tickets)
        assert not ask(call, waiting)
        for ticket in tickets:
            call("done", ticket, 0, "served", 0)
        call("leave", waiting)
        assert call("look")[0] in {START + grown, START + grown - 1}  # fractions add up over the rounds
    assert call("look")[0] > START


def test_it_does_not_grow_while_slots_are_free(call: Call) -> None:
    for number in range(100):
        assert ask(call, f"t{number}")
        call("done", f"t{number}", 0, "served", 0)
    assert call("look")[0] == START


def test_it_never_grows_beyond_the_most_that_is_allowed(call: Call) -> None:
    for _ in range(5):
        tickets = [f"t{number}" for number in range(9)]
        granted = [ticket for ticket in tickets if call("ask", ticket, 10 * SECOND, most=9)[0]]
        for ticket in granted:
            call("done", ticket, 0, "served", 0, most=9)
    assert call("look", most=9)[0] == 9


def test_all_calls_of_one_episode_cut_once(call: Call, clock: HandClock) -> None:
    tickets = [f"t{number}" for number in range(START)]
    assert all(ask(call, ticket) for ticket in tickets)
    assert call("done", "t0", 0, "overloaded", SECOND) == [8, 4]
    assert call("done", "t1", 0, "overloaded", SECOND) == [4, 4]
    assert call("done", "t2", 0, "served", 0) == [4, 4]  # began before the cut: says nothing about it
    clock.advance(1.1)
    for ticket in tickets[3:]:
        call("done", ticket, 0, "served", 0)
    assert ask(call, "later")
    assert call("done", "later", 1, "overloaded", SECOND) == [4, 2]


def test_it_is_never_cut_below_one(call: Call, clock: HandClock) -> None:
    for epoch in range(6):
        assert ask(call, f"t{epoch}")
        call("done", f"t{epoch}", epoch, "overloaded", SECOND)
        clock.advance(1.1)
    assert call("look")[0] == 1
    assert ask(call, "one more")


def test_nothing_begins_during_the_pause_that_was_asked_for(call: Call, clock: HandClock) -> None:
    assert ask(call, "a")
    call("done", "a", 0, "overloaded", 7 * SECOND)
    clock.advance(3)
    granted, wait, pause = call("ask", "b", 10 * SECOND)
    assert (granted, pause) == (0, 4 * SECOND)
    assert 0 < wait <= pause
    clock.advance(4.1)
    assert ask(call, "b")


def test_slots_of_a_dead_worker_come_back(call: Call, clock: HandClock) -> None:
    assert all(ask(call, f"dead-{number}") for number in range(START))
    assert not ask(call, "alive")
    clock.advance(6)
    call("renew", 10 * SECOND, "dead-0")
    assert not ask(call, "alive")
    clock.advance(4.5)
    assert ask(call, "alive")
    assert call("look")[1] == 2  # the renewed one and this


def test_slots_go_in_the_order_of_arrival_and_who_stops_asking_loses_its_place(
    call: Call, clock: HandClock
) -> None:
    assert all(ask(call, f"t{number}") for number in range(START))
    assert not ask(call, "first")
    assert not ask(call, "second")
    call("done", "t0", 0, "unused", 0)
    assert not ask(call, "second")
    assert ask(call, "first")
    assert not ask(call, "third")
    clock.advance(4)
    assert not ask(call, "third")
    clock.advance(2)  # "second" has not asked for six seconds
    call("done", "t1", 0, "unused", 0)
    assert ask(call, "third")


def test_asking_again_with_a_slot_in_hand_takes_no_second_one(call: Call) -> None:
    assert ask(call, "a")
    assert ask(call, "a")
    assert call("look")[1] == 1


@pytest.fixture
def pacing(patient: Patient) -> Pacing:
    return Pacing(patient, "model:test", most=MOST, lease=0.6)


def test_slots_are_kept_while_the_call_lasts_and_given_back_after_it(pacing: Pacing) -> None:
    with ExitStack() as stack:
        for _ in range(START):
            stack.enter_context(pacing.slot(Deadline.after(5)))
        time.sleep(1.0)  # longer than a lease: they are renewed
        assert pacing.state().in_use == START
        with pytest.raises(DeadlinePassed, match="model:test"), pacing.slot(Deadline.after(0.1)):
            pass
        assert pacing.state().waiting == 0
    assert pacing.state().in_use == 0


def test_who_waits_gets_a_slot_soon_after_one_is_free(pacing: Pacing) -> None:
    with ExitStack() as stack:
        slots = [stack.enter_context(pacing.slot(Deadline.after(5))) for _ in range(START)]
        assert len({slot.ticket for slot in slots}) == START
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(lambda: pacing.slot(Deadline.after(10)).__enter__())
            while pacing.state().waiting == 0:
                time.sleep(0.01)
            stack.close()
            assert isinstance(waiting.result(timeout=5), Slot)


def test_each_change_is_logged_with_its_reason(pacing: Pacing) -> None:
    with capture_logs() as logs, pacing.slot(Deadline.after(5)) as slot:
        slot.overloaded("429: slow down", 0.2)
    (entry,) = [entry for entry in logs if entry["event"] == "pacing.limit"]
    assert (entry["before"], entry["after"], entry["reason"]) == (8, 4, "429: slow down")
    assert pacing.state().paused_for > 0


def test_a_long_pause_is_not_waited_out_with_a_thread_in_hand(pacing: Pacing) -> None:
    with pacing.slot(Deadline.after(5)) as slot:
        slot.overloaded("429", 60)
    with pytest.raises(Unavailable) as caught, pacing.slot(Deadline.after(300)):
        pass
    assert caught.value.after == pytest.approx(60, abs=2)
    assert pacing.state().waiting == 0


def test_a_call_that_failed_otherwise_changes_nothing(pacing: Pacing) -> None:
    with pytest.raises(RuntimeError), pacing.slot(Deadline.after(5)):
        raise RuntimeError("not the endpoint's fault")
    assert pacing.state().limit == START
    assert pacing.state().in_use == 0


def test_it_finds_the_number_that_an_endpoint_bears(patient: Patient) -> None:
    """Twelve callers and an endpoint that bears three at a time."""
    pacing = Pacing(patient, "model:test", most=MOST)
    lock = threading.Lock()
    busy = 0
    served = refused = 0
    end = Deadline.after(3)

    def work() -> None:
        nonlocal busy, served, refused
        while not end.passed:
            try:
                with pacing.slot(end) as slot:
                    with lock:
                        fits = busy < 3
                        busy += fits
                    if not fits:
                        slot.overloaded("429", 0.05)
                        refused += 1
                        continue
                    time.sleep(0.03)
                    with lock:
                        busy -= 1
                        served += 1
                    slot.served()
            except DeadlinePassed:
                return

    with ThreadPoolExecutor(12) as threads:
        for job in [threads.submit(work) for _ in range(12)]:
            job.result()
    assert pacing.state().limit < 12
    assert refused > 0
    assert served > 4 * refused
