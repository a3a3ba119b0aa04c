"""Effects happen once, because of what is written before and after them."""

from __future__ import annotations

import pytest

from shared.errors import LeaseLost, UsageError
from shared.models import Effect, EffectResult, Solution
from shared.pool.connection import Patient
from shared.pool.journal import Entry, Journal
from shared.pool.ledger import Lease, Ledger
from tests.support.ledger import LEASE, HandClock, lease, open_run

MAIL = Effect(tool="send_message", args={"to": "a@b.test", "body": "line\nwith spaces"})


@pytest.fixture
def journal(patient: Patient, clock: HandClock) -> Journal:
    return Journal(patient, clock=clock)


@pytest.fixture
def held(ledger: Ledger) -> Lease:
    """A lease of a task whose decision is stored."""
    granted = lease(ledger, open_run(ledger, task_seconds=60.0))
    ledger.decide(granted, Solution(effects=(MAIL,)))
    return granted


def taken_over(ledger: Ledger, clock: HandClock, old: Lease) -> Lease:
    clock.advance(2 * LEASE)
    ledger.expire_leases(grace=False)
    return lease(ledger, old.ref, old.task_id, owner="w2")


def test_an_intent_then_its_result(journal: Journal, held: Lease) -> None:
    assert journal.entries(held.ref, "t1") == []
    intent = journal.intend(held, 0, MAIL, 5.0, seen=3)
    assert intent == Entry(0, MAIL, "intent", fence=held.fence, seen=3)
    assert journal.entries(held.ref, "t1") == [intent]
    result = EffectResult(position=0, effect=MAIL, ok=True, result={"id": "m-1"})
    done = journal.settle(held, result)
    assert done == Entry(0, MAIL, "done", result=result)
    assert journal.entries(held.ref, "t1") == [done]


def test_repeats_change_nothing(journal: Journal, held: Lease) -> None:
    assert journal.intend(held, 0, MAIL, 5.0) == journal.intend(held, 0, MAIL, 5.0, seen=9)
    first = EffectResult(position=0, effect=MAIL, ok=True)
    journal.settle(held, first)
    assert journal.settle(held, EffectResult(position=0, effect=MAIL, ok=False)).result == first
    assert journal.intend(held, 0, MAIL, 5.0).result == first


def test_the_next_holder_finds_the_intent_of_a_dead_one_under_its_fence(
    journal: Journal, ledger: Ledger, clock: HandClock, held: Lease
) -> None:
    journal.intend(held, 0, MAIL, 5.0, seen=0)
    new = taken_over(ledger, clock, held)
    entry = journal.intend(new, 0, MAIL, 5.0, seen=1)
    assert entry == Entry(0, MAIL, "intent", fence=held.fence, seen=0)
    assert entry.fence != new.fence


def test_a_lease_that_is_over_writes_nothing(
    journal: Journal, ledger: Ledger, clock: HandClock, held: Lease
) -> None:
    journal.intend(held, 0, MAIL, 5.0)
    taken_over(ledger, clock, held)
    before = journal.entries(held.ref, "t1")
    with pytest.raises(LeaseLost):
        journal.intend(held, 1, MAIL, 5.0)
    with pytest.raises(LeaseLost):
        journal.settle(held, EffectResult(position=0, effect=MAIL, ok=True))
    with pytest.raises(LeaseLost):
        journal.count_call(held)
    assert journal.entries(held.ref, "t1") == before
    assert journal.known_calls(held.ref, "t1") == 1


def test_an_intent_makes_the_lease_outlive_the_request(
    journal: Journal, ledger: Ledger, clock: HandClock, held: Lease
) -> None:
    clock.advance(LEASE - 1)
    journal.intend(held, 0, MAIL, 30.0)
    clock.advance(29.9)
    assert ledger.expire_leases(grace=False) == []
    clock.advance(0.1)
    assert len(ledger.expire_leases(grace=False)) == 1


def test_past_the_deadline_of_the_task_no_effect_begins(
    journal: Journal, clock: HandClock, held: Lease
) -> None:
    clock.advance(60)
    with pytest.raises(LeaseLost):
        journal.intend(held, 0, MAIL, 5.0)
    assert journal.entries(held.ref, "t1") == []


def test_no_effect_before_the_decision_is_stored(journal: Journal, ledger: Ledger) -> None:
    undecided = lease(ledger, open_run(ledger))
    with pytest.raises(UsageError, match="no decision"):
        journal.intend(undecided, 0, MAIL, 5.0)


def test_entries_are_those_of_the_task_in_order(journal: Journal, ledger: Ledger, held: Lease) -> None:
    other = lease(ledger, held.ref, "t2")
    ledger.decide(other, Solution())
    for position in (10, 2, 0):
        journal.intend(held, position, MAIL, 5.0)
    journal.intend(other, 1, Effect(tool="write"), 5.0)
    assert [entry.position for entry in journal.entries(held.ref, "t1")] == [0, 2, 10]
    assert [entry.effect.tool for entry in journal.entries(held.ref, "t2")] == ["write"]


def test_known_calls_are_those_that_may_have_reached_the_platform(
    journal: Journal, ledger: Ledger, held: Lease
) -> None:
    journal.intend(held, 0, MAIL, 5.0)
    journal.intend(held, 1, MAIL, 5.0)
    journal.settle(held, EffectResult(position=1, effect=MAIL, ok=False, error="no such address"))
    journal.settle(held, EffectResult(position=2, effect=MAIL, ok=False, refused_by="recipients"))
    journal.count_call(held)
    journal.count_call(held)
    journal.count_call(lease(ledger, held.ref, "t2"))
    assert journal.known_calls(held.ref, "t1") == 4
    assert [entry.position for entry in journal.entries(held.ref, "t1")] == [0, 1, 2]


def test_events_tell_of_effects_without_their_arguments(
    journal: Journal, ledger: Ledger, held: Lease
) -> None:
    journal.intend(held, 0, MAIL, 5.0)
    journal.settle(held, EffectResult(position=0, effect=MAIL, ok=None))
    told = ledger.events(held.ref)[-2:]
    assert [(event.name, event.data) for event in told] == [
        ("intent", {"position": "0", "tool": "send_message"}),
        ("effect", {"position": "0", "tool": "send_message", "verdict": "unknown"}),
    ]
