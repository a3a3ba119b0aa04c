"""Money is committed before a call and settled after it; caps hold for all workers together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from shared.errors import LeaseLost
from shared.models import RunRef
from shared.pool import keys
from shared.pool.connection import Patient
from shared.pool.ledger import Ledger
from shared.pool.spend import Caps, Spend, Spent, micro_dollars
from tests.support.ledger import a_run, open_run


@pytest.fixture
def spend(patient: Patient) -> Spend:
    return Spend(patient)


@pytest.fixture
def of_sweep(redis_client: redis.Redis) -> Callable[[str], int]:
    """Micro-dollars that a sweep's runs have committed."""
    return lambda sweep: int(redis_client.hget(keys.SWEEPS, sweep) or 0)


def first_call(spend: Spend, ref: RunRef) -> None:
    """Before it is paid, others under the same cap wait. It was free."""
    assert spend.reserve(ref, "t0", "first", 0) is None
    spend.settle(ref, "t0", "first", 0, tokens_in=1)


def test_an_estimate_is_replaced_by_the_cost(spend: Spend, ledger: Ledger) -> None:
    ref = open_run(ledger)
    assert spend.reserve(ref, "t1", "a", 1000) is None
    assert spend.totals(ref).unsettled == 1000
    assert spend.settle(ref, "t1", "a", 1234, tokens_in=900, tokens_cached=800, tokens_out=50)
    totals = spend.totals(ref)
    assert totals.by_task == {
        "t1": Spent(settled=1234, calls=1, tokens_in=900, tokens_cached=800, tokens_out=50)
    }
    assert (totals.settled, totals.unsettled, totals.calls) == (1234, 0, 1)
    assert totals.usd == 0.001234


def test_a_call_whose_answer_was_lost_stays_unsettled_at_its_estimate(spend: Spend, ledger: Ledger) -> None:
    ref = open_run(ledger)
    spend.reserve(ref, "t1", "lost", 700)
    spend.reserve(ref, "t1", "answered", 700)
    spend.settle(ref, "t1", "answered", 300)
    assert spend.totals(ref).by_task["t1"] == Spent(settled=300, unsettled=700, calls=2)


def test_a_call_that_was_never_made_settles_at_nothing(spend: Spend, ledger: Ledger) -> None:
    ref = open_run(ledger)
    spend.reserve(ref, "t1", "a", 700, Caps(run=1000))
    spend.settle(ref, "t1", "a", 0)
    assert spend.reserve(ref, "t1", "b", 1000, Caps(run=1000)) is None


def test_repeats_count_once(spend: Spend, ledger: Ledger, of_sweep: Callable[[str], int]) -> None:
    ref = open_run(ledger, sweep="s")
    for _ in range(3):
        assert spend.reserve(ref, "t1", "a", 600, Caps(task=1000, run=1000, sweep=1000)) is None
    assert of_sweep("s") == 600
    for cost in (500, 999):
        spend.settle(ref, "t1", "a", cost, tokens_in=10)
    assert of_sweep("s") == 500
    assert (spend.totals(ref).settled, spend.totals(ref).calls, spend.totals(ref).tokens_in) == (500, 1, 10)


def test_a_late_repeat_of_a_reservation_does_not_unsettle_a_call(spend: Spend, ledger: Ledger) -> None:
    ref = open_run(ledger)
    spend.reserve(ref, "t1", "a", 600)
    spend.settle(ref, "t1", "a", 500)
    spend.reserve(ref, "t1", "a", 600)
    assert (spend.totals(ref).settled, spend.totals(ref).unsettled) == (500, 0)


@pytest.mark.parametrize("name", ["task", "run", "sweep"])
def test_a_cap_refuses_what_would_overrun_it_and_commits_nothing(
    spend: Spend, ledger: Ledger, of_sweep: Callable[[str], int], name: str
) -> None:
    ref = open_run(ledger, sweep="s")
    first_call(spend, ref)
    caps = Caps(**{name: 1000})
    assert spend.reserve(ref, "t1", "a", 600, caps) is None
    assert spend.reserve(ref, "t1", "b", 401, caps) == name
    assert spend.totals(ref).unsettled == 600
    assert of_sweep("s") == 600
    assert spend.reserve(ref, "t1", "c", 400, caps) is None


def test_caps_of_task_run_and_sweep_see_what_each_has_spent(spend: Spend, ledger: Ledger) -> None:
    first = open_run(ledger, a_run("run_1"), sweep="s")
    second = open_run(ledger, a_run("run_2"), sweep="s")
    spend.reserve(first, "t1", "a", 600)
    assert spend.reserve(first, "t2", "b", 600, Caps(task=1000)) is None
    assert spend.reserve(first, "t3", "c", 1, Caps(run=1200)) == "run"
    assert spend.reserve(second, "t1", "d", 1, Caps(run=1200)) is None
    assert spend.reserve(second, "t1", "e", 1, Caps(sweep=1201)) == "sweep"


def test_costs_count_against_a_cap_as_they_really_were(spend: Spend, ledger: Ledger) -> None:
    ref = open_run(ledger)
    spend.reserve(ref, "t1", "a", 100, Caps(run=1000))
    spend.settle(ref, "t1", "a", 950)
    assert spend.reserve(ref, "t1", "b", 100, Caps(run=1000)) == "run"


def test_runs_outside_a_sweep_share_no_sweep_cap(spend: Spend, ledger: Ledger) -> None:
    first, second = open_run(ledger, a_run("run_1")), open_run(ledger, a_run("run_2"))
    assert spend.reserve(first, "t1", "a", 900, Caps(sweep=1000)) is None
    assert spend.reserve(second, "t1", "b", 900, Caps(sweep=1000)) is None


def test_a_cap_holds_for_many_workers_at_once(spend: Spend, ledger: Ledger) -> None:
    ref = open_run(ledger)
    first_call(spend, ref)
    start = threading.Barrier(8)

    def work(worker: int) -> int:
        start.wait()
        calls = [spend.reserve(ref, "t1", f"{worker}-{n}", 100, Caps(run=2050)) for n in range(10)]
        return calls.count(None)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 20
    assert spend.totals(ref).unsettled == 2000


@pytest.mark.parametrize("sweep", ["", "s"])
def test_estimates_are_raised_by_what_calls_cost_beside_theirs(
    spend: Spend, ledger: Ledger, sweep: str
) -> None:
    first = open_run(ledger, a_run("run_1"), sweep=sweep)
    other = open_run(ledger, a_run("run_2"), sweep=sweep)
    for call, cost in (("a", 50), ("b", 250), ("c", 200)):
        spend.reserve(first, "t1", call, 100)
        spend.settle(first, "t1", call, cost)
    assert spend.reserve(first, "t1", "d", 40, Caps(run=599)) == "run"
    assert spend.reserve(first, "t1", "d", 40, Caps(run=600)) is None
    assert spend.totals(first).unsettled == 100
    spend.reserve(other, "t1", "e", 40)
    assert spend.totals(other).unsettled == (100 if sweep else 40)


def test_the_first_call_under_a_cap_that_many_share_is_made_alone(spend: Spend, ledger: Ledger) -> None:
    ref = open_run(ledger)
    shared, own = Caps(run=1000), Caps(task=1000)
    assert spend.reserve(ref, "t1", "a", 100, shared) is None
    assert spend.reserve(ref, "t2", "b", 100, shared) == "wait"
    assert spend.reserve(ref, "t2", "b", 901, shared) == "run"
    assert spend.reserve(ref, "t3", "c", 100, own) is None
    spend.settle(ref, "t1", "a", 0)  # turned down
    assert spend.reserve(ref, "t2", "b", 100, shared) is None
    assert spend.reserve(ref, "t1", "d", 100, shared) == "wait"
    spend.settle(ref, "t2", "b", 100)
    assert [spend.reserve(ref, "t1", call, 100, shared) for call in ("e", "f")] == [None, None]


def test_a_first_call_that_was_lost_is_not_waited_for_for_ever(
    spend: Spend, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.pool.spend.FIRST_CALL", 0.0)
    ref = open_run(ledger)
    assert [spend.reserve(ref, "t1", call, 100, Caps(run=1000)) for call in ("a", "b")] == [None, None]


def test_a_run_that_is_gone_pays_for_nothing(spend: Spend, redis_client: redis.Redis) -> None:
    ref = a_run("run_gone").ref
    with pytest.raises(LeaseLost, match="not in the ledger"):
        spend.reserve(ref, "t1", "a", 100)
    assert not spend.settle(ref, "t1", "a", 100)
    assert not redis_client.exists(keys.spend(ref))


def test_a_sweeps_sum_is_kept_until_it_is_closed(
    spend: Spend, ledger: Ledger, redis_client: redis.Redis, of_sweep: Callable[[str], int]
) -> None:
    ref = open_run(ledger, sweep="s")
    first_call(spend, ref)
    spend.reserve(ref, "t1", "a", 100)
    assert of_sweep("s") == 100
    spend.close_sweep("s")
    assert of_sweep("s") == 0
    assert not redis_client.exists(keys.SWEEPS)


def test_large_sums_keep_every_micro_dollar(spend: Spend, ledger: Ledger) -> None:
    ref = open_run(ledger)
    large = 4_000_000_000_000_001
    spend.reserve(ref, "t1", "a", large)
    spend.settle(ref, "t1", "a", large)
    spend.reserve(ref, "t1", "b", 2)
    assert spend.totals(ref).settled == large
    assert spend.reserve(ref, "t1", "c", 1, Caps(run=large + 2)) == "run"
    assert spend.reserve(ref, "t1", "c", 1, Caps(run=large + 3)) is None


def test_dollars_become_whole_micro_dollars() -> None:
    assert micro_dollars(0.0000014) == 1
    assert micro_dollars(1.1) == 1_100_000
