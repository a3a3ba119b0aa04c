"""One task at a time, played in this process against a real Redis."""

from __future__ import annotations

import gc
import threading

import pytest

from shared.errors import DeadlinePassed, LeaseLost, NotAuthorised, Unavailable
from shared.models import Run, Solution, TaskStatus
from shared.pool.pool import Pool
from tests.support import model_solvers
from tests.support.playing import finish_one, open_toy, solve_one, state_of, toy_settings, wait_for
from tests.support.scripted import ScriptedServer, hang
from tests.support.toy_platform import ToyPlatform
from workers.worker import Worker


@pytest.fixture
def worker(redis_url):
    worker = Worker(toy_settings(redis_url, lease_seconds=2.0), most_stuck=1000)
    yield worker
    worker.close()


@pytest.fixture
def pool(worker) -> Pool:
    return worker.pool


def task(pool: Pool, run: Run, task_id: str = "4"):
    return pool.ledger.task(run.ref, task_id)


def events(pool: Pool, run: Run, task_id: str = "4") -> list[str]:
    return [event.name for event in pool.ledger.events(run.ref) if event.task_id == task_id]


def transcript(pool: Pool, run: Run, task_id: str = "4") -> list[dict]:
    return pool.transcripts.read(run.ref, task_id)


def platform(worker: Worker) -> ToyPlatform:
    found = worker.platform("toy")
    assert isinstance(found, ToyPlatform)
    return found


def test_a_task_is_solved_reported_and_its_run_asked_to_finish(worker, pool):
    run = open_toy(pool, options={"tasks": 1})
    solve_one(worker, run, "4")
    assert task(pool, run).status is TaskStatus.SOLVED
    assert task(pool, run).solution == Solution(answer=8)
    assert pool.jobs.waiting("scrimmage.finish") == 1
    assert [entry["event"] for entry in transcript(pool, run)] == ["log", "decided"]


def test_an_attempt_leaves_nothing_that_only_a_full_collection_would_free(worker, pool):
    run = open_toy(pool, options={"tasks": 6})
    solve_one(worker, run, "4")
    gc.collect()
    gc.disable()
    try:
        for task_id in ("8", "10", "14", "16"):
            solve_one(worker, run, task_id)
        assert gc.collect() < 20
    finally:
        gc.enable()


def test_a_redelivered_job_reports_nothing_twice(worker, pool):
    run = open_toy(pool, options={"tasks": 2})
    solve_one(worker, run, "4")
    solve_one(worker, run, "4")
    assert events(pool, run) == ["leased", "decided", "solved"]


def test_two_deliveries_at_once_are_worked_on_once(worker, pool, monkeypatch):
    monkeypatch.setenv("TOY_SECONDS", "0.3")
    run = open_toy(pool, "slow")
    threads = [threading.Thread(target=solve_one, args=(worker, run, "4", "slow")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert events(pool, run) == ["leased", "decided", "solved"]
    assert [entry["event"] for entry in transcript(pool, run)] == ["decided"]


def test_a_come_back_costs_no_attempt_and_brings_its_state(worker, pool):
    run = open_toy(pool, "patient")
    for _ in range(2):
        solve_one(worker, run, "4", "patient")
        assert task(pool, run).status is TaskStatus.WAITING
        wait_for(lambda: bool(pool.ledger.wake_due()), 5, "the task is due")
    solve_one(worker, run, "4", "patient")
    assert task(pool, run).status is TaskStatus.SOLVED
    assert task(pool, run).faults == 0


@pytest.mark.parametrize(
    ("solver", "reason"),
    [
        ("raising", "the solver raised KeyError: 'no such thing'"),
        ("rubbish", "the solver returned a dict, not a Solution"),
        ("nothing", "the solver returned nothing, not a Solution"),
        ("exiting", "the solver raised SystemExit: 3"),
        ("endless", "the solver's solution cannot be sent: not a JSON number: nan"),
        ("huge", "the solver's solution has 2097"),
        ("hasty", "the solver's ComeBack cannot be kept: after must be"),
        ("strange", "the solver's ComeBack cannot be kept: not JSON data: a object"),
    ],
)
def test_a_solver_that_fails_uses_up_an_attempt_and_the_reason_is_kept(worker, pool, solver, reason):
    run = open_toy(pool, solver, attempts=1)
    solve_one(worker, run, "4", solver)
    assert task(pool, run).status is TaskStatus.GAVE_UP
    assert state_of(pool, run).failures["4"].startswith(reason)


def test_a_solver_that_raises_leaves_its_traceback_without_keys(redis_url):
    worker = Worker(toy_settings(redis_url, model_key="MARKED-KEY-1"))
    run = open_toy(worker.pool, "leaking", attempts=1)
    solve_one(worker, run, "4", "leaking")
    (entry,) = (entry for entry in transcript(worker.pool, run) if entry["event"] == "solver_raised")
    assert "in solve" in entry["traceback"]
    assert "***" in entry["error"]
    kept = str(transcript(worker.pool, run)) + str(state_of(worker.pool, run))
    assert "MARKED-KEY-1" not in kept
    worker.close()


def test_other_tasks_go_on_when_one_gives_up(worker, pool):
    run = open_toy(pool, "raising", attempts=1, options={"tasks": 3})
    for each in run.tasks:
        solve_one(worker, run, each.task_id, "raising")
    finish_one(worker, run)
    state = state_of(pool, run)
    assert state.status == "finished"
    assert state.submitted == 2
    assert list(state.failures) == ["4"]


@pytest.mark.parametrize(
    "failure", [Unavailable("the model is down", after=0.1), NotAuthorised("key revoked", status=401)]
)
def test_an_infrastructure_failure_waits_and_costs_no_attempt(worker, pool, monkeypatch, failure):
    run = open_toy(pool, "calling", attempts=1)

    def down(*_: object) -> None:
        raise failure

    monkeypatch.setattr(platform(worker), "call_tool", down)
    solve_one(worker, run, "4", "calling")
    assert task(pool, run).status is TaskStatus.WAITING
    assert task(pool, run).faults == 0
    assert str(failure) in str(task(pool, run).reason)


def test_a_pause_that_outlasts_the_run_is_cut_so_that_the_task_is_played_once_more(worker, pool, monkeypatch):
    run = open_toy(pool, "calling", budget_seconds=20.0)

    def down(*_: object) -> None:
        raise Unavailable("the model is down", after=3600)

    monkeypatch.setattr(platform(worker), "call_tool", down)
    solve_one(worker, run, "4", "calling")
    assert task(pool, run).due <= state_of(pool, run).now + 10


def test_a_model_that_never_answers_leaves_its_solver_time_for_a_last_word(redis_url):
    with ScriptedServer() as endpoint:
        endpoint.on("POST", "/chat/completions", forever=hang)
        settings = toy_settings(redis_url, model_url=endpoint.url, model="m", model_key="k")
        worker = Worker(settings.model_copy(update={"solvers": model_solvers.SETTING}))
        run = open_toy(worker.pool, "undaunted", task_seconds=2.0)
        solve_one(worker, run, "4", "undaunted")
        worker.close()
    solution = task(worker.pool, run).solution
    assert solution is not None
    assert 0.1 < solution.answer < 0.5


def test_a_solver_that_wraps_an_infrastructure_failure_is_not_blamed(worker, pool, monkeypatch):
    run = open_toy(pool, "wrapping", attempts=1)

    def down(*_: object) -> None:
        raise Unavailable("the platform is down")

    monkeypatch.setattr(platform(worker), "call_tool", down)
    solve_one(worker, run, "4", "wrapping")
    assert task(pool, run).status is TaskStatus.WAITING


def test_a_platform_that_is_too_slow_for_the_task_is_not_the_solver_s_fault(worker, pool, monkeypatch):
    run = open_toy(pool, "calling", attempts=1)

    def slow(*_: object) -> None:
        raise DeadlinePassed("no token before the deadline")

    monkeypatch.setattr(platform(worker), "call_tool", slow)
    solve_one(worker, run, "4", "calling")
    assert task(pool, run).status is TaskStatus.WAITING


def test_a_defect_of_the_pool_costs_the_task_an_attempt_and_not_the_worker(worker, pool, monkeypatch):
    run = open_toy(pool, "doubling", attempts=1)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(worker, "platform", broken)
        solve_one(worker, run, "4")
    assert state_of(pool, run).failures["4"].startswith("internal error: ZeroDivisionError")
    solve_one(worker, run, "8")
    assert task(pool, run, "8").status is TaskStatus.SOLVED


def test_an_unknown_solver_leaves_the_task_for_workers_that_have_it(worker, pool):
    run = open_toy(pool, "elsewhere", attempts=1)
    solve_one(worker, run, "4", "elsewhere")
    assert task(pool, run).status is TaskStatus.WAITING
    assert "no solver is called 'elsewhere'" in str(task(pool, run).reason)


def test_a_solver_cannot_call_a_tool_that_changes_state(worker, pool):
    run = open_toy(pool, "meddling")
    solve_one(worker, run, "4", "meddling")
    solution = task(pool, run).solution
    assert solution is not None
    assert "declare it in the solution" in str(solution.answer)
    assert platform(worker).pushed(run, "4") == []


def test_read_only_tools_of_the_platform_answer(worker, pool):
    run = open_toy(pool, "calling")
    solve_one(worker, run, "4", "calling")
    solution = task(pool, run).solution
    assert solution is not None
    assert solution.answer == []


def test_effects_run_in_order_after_the_decision(worker, pool):
    run = open_toy(pool, "pushing")
    solve_one(worker, run, "4", "pushing")
    assert platform(worker).pushed(run, "4") == ["one", "two"]
    assert events(pool, run) == ["leased", "decided", "intent", "effect", "intent", "effect", "solved"]


def test_a_refused_effect_brings_the_solver_back_once_and_repeats_nothing(worker, pool):
    run = open_toy(pool, "pushing")
    solve_one(worker, run, "8", "pushing")
    assert platform(worker).pushed(run, "8") == ["one", "instead"]
    solution = task(pool, run, "8").solution
    assert solution is not None
    assert solution.answer == ["refused"]
    assert task(pool, run, "8").revised


@pytest.mark.parametrize(("task_id", "pushed"), [("10", ["lost"]), ("14", ["dropped", "two"])])
def test_an_effect_whose_answer_was_lost_is_settled_by_looking(worker, pool, task_id, pushed):
    run = open_toy(pool, "pushing")
    solve_one(worker, run, task_id, "pushing")
    assert task(pool, run, task_id).status is TaskStatus.WAITING
    wait_for(lambda: bool(pool.ledger.wake_due()), 5, "the task is due")
    solve_one(worker, run, task_id, "pushing")
    assert task(pool, run, task_id).status is TaskStatus.SOLVED
    assert platform(worker).pushed(run, task_id) == pushed


def test_a_later_attempt_carries_out_the_stored_decision(worker, pool):
    run = open_toy(pool, "pushing")
    lease = pool.ledger.lease(run.ref, "4", "somebody", 0.2)
    assert lease is not None
    pool.ledger.decide(lease, Solution(answer="decided before"))
    wait_for(lambda: bool(pool.ledger.expire_leases(False)), 5, "the lease runs out")
    solve_one(worker, run, "4", "pushing")
    solution = task(pool, run).solution
    assert solution is not None
    assert solution.answer == "decided before"
    assert platform(worker).pushed(run, "4") == []
    assert transcript(pool, run) == []


def test_no_effect_leaves_when_the_platform_shows_more_than_the_journal_knows(worker, pool):
    run = open_toy(pool, "pushing")
    redis = platform(worker)._redis
    redis.hincrby(f"toy:{run.run_id}:calls", "4", 2)
    solve_one(worker, run, "4", "pushing")
    assert platform(worker).pushed(run, "4") == []
    assert task(pool, run).status is TaskStatus.SOLVED
    results = [entry.result for entry in pool.journal.entries(run.ref, "4")]
    assert {result.refused_by for result in results if result} == {"journal-lost"}


def test_a_result_from_a_lease_that_is_over_is_dropped(worker, pool, monkeypatch):
    monkeypatch.setenv("TOY_SECONDS", "1")
    run = open_toy(pool, "slow")
    thread = threading.Thread(target=solve_one, args=(worker, run, "4", "slow"))
    thread.start()
    wait_for(lambda: task(pool, run).status is TaskStatus.LEASED, 5, "leased")
    lease = pool.ledger.lease(run.ref, "4", str(task(pool, run).owner), 0.1)
    assert lease is not None
    pool.ledger.wait(lease, 0.0, "taken away")
    wait_for(lambda: bool(pool.ledger.wake_due()), 5, "due")
    other = pool.ledger.lease(run.ref, "4", "other", 10.0)
    assert other is not None
    thread.join()
    with pytest.raises(LeaseLost):
        pool.ledger.report(lease)
    assert task(pool, run).solution is None
    assert task(pool, run).owner == "other"


def test_a_lease_is_renewed_while_the_solver_works(worker, pool, monkeypatch):
    monkeypatch.setenv("TOY_SECONDS", "3")
    run = open_toy(pool, "slow")
    thread = threading.Thread(target=solve_one, args=(worker, run, "4", "slow"))
    thread.start()
    while thread.is_alive():
        assert pool.ledger.expire_leases(False) == []
        thread.join(0.1)
    assert task(pool, run).status is TaskStatus.SOLVED


@pytest.mark.parametrize("task_seconds", [0.5, 30.0])
def test_whoever_still_works_when_the_lease_is_over_is_told_at_the_next_tool_call(redis_url, task_seconds):
    worker = Worker(toy_settings(redis_url, lease_seconds=0.6), most_stuck=1000)
    pool = worker.pool
    run = open_toy(pool, task_seconds=task_seconds)
    lease = pool.ledger.lease(run.ref, "4", "me", 0.6)
    assert lease is not None
    with worker.leases.hold(lease) as held:
        held.check()
        if task_seconds > 1:
            pool.ledger.wait(lease, 60.0, "taken away")
        wait_for(lambda: held.over, 5, "the renewal thread sees it")
        with pytest.raises(LeaseLost):
            held.check()
    worker.close()


def test_a_solver_that_never_returns_loses_its_task_and_counts_as_stuck(redis_url):
    worker = Worker(toy_settings(redis_url, lease_seconds=0.6), most_stuck=1000)
    pool = worker.pool
    run = open_toy(pool, "silent", attempts=1, task_seconds=0.5)
    threading.Thread(target=solve_one, args=(worker, run, "4", "silent"), daemon=True).start()
    wait_for(lambda: bool(pool.ledger.expire_leases(False)), 5, "the lease runs out")
    assert task(pool, run).status is TaskStatus.GAVE_UP
    assert "deadline" in state_of(pool, run).failures["4"]
    assert worker.leases.stuck() == 1
    assert worker.leases.live() == 0
