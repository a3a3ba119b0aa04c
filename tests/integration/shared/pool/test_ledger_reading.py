"""Looking at runs, and removing them."""

from __future__ import annotations

import pytest
import redis

from shared.errors import UsageError
from shared.models import Effect, EffectResult, RunStatus, Scorecard, Solution, TaskStatus
from shared.pool import keys
from shared.pool.connection import Patient
from shared.pool.journal import Journal
from shared.pool.ledger import Ledger
from shared.pool.spend import Spend
from shared.pool.transcript import Transcripts
from tests.support.ledger import HandClock, a_run, lease, lease_run, open_run, solve


def test_a_run_is_found_by_its_id_or_its_ref(ledger: Ledger) -> None:
    ref = open_run(ledger, a_run("run_1"))
    open_run(ledger, a_run("run_2"))
    open_run(ledger, a_run("run_2", platform="benchgen"))
    assert ledger.find("run_1") == ref
    assert ledger.find("arena:run_1") == ref
    assert str(ledger.find("benchgen:run_2")) == "benchgen:run_2"
    with pytest.raises(UsageError, match="several runs: arena:run_2, benchgen:run_2"):
        ledger.find("run_2")
    with pytest.raises(UsageError, match="no run 'run_3'"):
        ledger.find("run_3")


def test_runs_are_listed_oldest_first_all_or_those_of_one_status(ledger: Ledger, clock: HandClock) -> None:
    for run_id in ("run_b", "run_a", "run_c"):
        ref = open_run(ledger, a_run(run_id))
        clock.advance(1)
    assert [state.ref.run_id for state in ledger.runs()] == ["run_b", "run_a", "run_c"]
    ledger.close(ref)
    assert [state.ref.run_id for state in ledger.runs(RunStatus.SOLVING)] == ["run_b", "run_a"]
    assert [state.ref.run_id for state in ledger.runs(RunStatus.FINISHING)] == ["run_c"]


def test_a_run_counts_its_tasks_by_status(ledger: Ledger) -> None:
    ref = open_run(ledger, a_run(tasks=4), attempts=1)
    solve(ledger, ref, "t1")
    lease(ledger, ref, "t2")
    ledger.fault(lease(ledger, ref, "t3"), "boom")
    state = ledger.run(ref)
    assert state is not None
    assert state.counts == {
        TaskStatus.SOLVED: 1,
        TaskStatus.LEASED: 1,
        TaskStatus.GAVE_UP: 1,
        TaskStatus.QUEUED: 1,
    }
    assert state.failures == {"t3": "boom"}


def test_an_unknown_task_is_an_error_that_names_it(ledger: Ledger) -> None:
    ref = open_run(ledger)
    with pytest.raises(UsageError, match="no task 't9' of arena:run_1"):
        ledger.task(ref, "t9")


def test_an_unknown_run_has_no_state_no_tasks_and_no_events(ledger: Ledger) -> None:
    ref = a_run("run_gone").ref
    assert (ledger.run(ref), ledger.tasks(ref), ledger.events(ref)) == (None, [], [])


def test_the_events_tell_the_way_of_a_task_without_its_solution(ledger: Ledger) -> None:
    ref = open_run(ledger, a_run(tasks=1))
    held = lease(ledger, ref)
    ledger.decide(held, Solution(answer="the secret answer"))
    ledger.report(held)
    drain = lease_run(ledger, ref)
    ledger.submitting(drain, ["t1"])
    ledger.sealed(drain, RunStatus.FINISHED, Scorecard())
    events = ledger.events(ref)
    assert [(event.name, event.task_id) for event in events] == [
        ("opened", None),
        ("leased", "t1"),
        ("decided", "t1"),
        ("solved", "t1"),
        ("finishing", None),
        ("submitting", "t1"),
        ("finished", None),
    ]
    assert "secret" not in repr(events)
    assert ledger.events(ref, after=events[4].id) == events[5:]


def test_only_a_sealed_run_is_archived_or_removed(ledger: Ledger) -> None:
    ref = open_run(ledger)
    with pytest.raises(UsageError, match="not sealed"):
        ledger.archived(ref)
    with pytest.raises(UsageError, match="not sealed"):
        ledger.remove(ref)
    ledger.failed(lease_run(ledger, ref), "gone")
    ledger.archived(ref)
    state = ledger.run(ref)
    assert state is not None
    assert state.archived


def test_removing_a_run_leaves_no_key_behind_and_nobody_brings_one_back(
    ledger: Ledger, patient: Patient, redis_client: redis.Redis, clock: HandClock
) -> None:
    before = set(redis_client.keys())
    other = open_run(ledger, a_run("run_2"))
    kept = set(redis_client.keys())
    journal, spend, transcripts = Journal(patient, clock=clock), Spend(patient), Transcripts(patient)
    ref = open_run(ledger, a_run(tasks=4))
    solve(ledger, ref, "t1")
    held = lease(ledger, ref, "t2")
    ledger.decide(held, Solution())
    journal.intend(held, 0, Effect(tool="write"), 5)
    ledger.come_back(lease(ledger, ref, "t3"), 5, {})
    ledger.take_unsent(ref, 1)
    spend.reserve(ref, "t1", "call", 5)
    transcripts.append(ref, "t1", [{"event": "x"}])
    redis_client.set(keys.listing(ref), "files")
    ledger.sealed(lease_run(ledger, ref), RunStatus.FINISHED, Scorecard())

    ledger.remove(ref)
    ledger.remove(ref)
    assert set(redis_client.keys()) == kept
    assert ledger.refs() == [other]

    transcripts.append(ref, "t1", [{"event": "late"}])
    spend.settle(ref, "t1", "call", 7)
    with pytest.raises(Exception, match="lease is over"):
        journal.settle(held, EffectResult(position=0, effect=Effect(tool="write"), ok=True))
    assert set(redis_client.keys()) == kept

    ledger.failed(lease_run(ledger, other), "done")
    ledger.remove(other)
    assert set(redis_client.keys()) == before
