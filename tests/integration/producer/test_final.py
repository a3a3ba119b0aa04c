"""One final run, whoever starts it; preflight's view of Redis and the working tree."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import redis

from producer.archive import Archive
from producer.final import FinalRun
from producer.notebook import Notebook
from producer.preflight import Preflight, working_tree
from producer.recovery import situation
from producer.runs import open_run, rebuild
from producer.sweeps import close_due
from shared.deadline import Deadline
from shared.errors import Refused, Unavailable
from shared.models import Kind, RunRequest, RunStatus, Scorecard, Solution, TaskStatus
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool.connection import connect
from shared.pool.fleet import Heartbeat
from tests.support.played_arena import PlayedArena

FINAL = RunRequest(kind=Kind.FINAL)


@pytest.fixture
def arena(tmp_path: Path, redis_url: str) -> Iterator[PlayedArena]:
    played = PlayedArena(tmp_path, redis_url)
    yield played
    played.stop()


def platform(arena: PlayedArena, folder: Path) -> ArenaPlatform:
    """As a command in ``folder`` has it; waits take no time."""
    return arena.platform(sleep=lambda _: None, data=folder / "data", archive=folder / "archive")


def start(arena: PlayedArena, folder: Path) -> str:
    mine = platform(arena, folder)
    return FinalRun(arena.pool, mine, FINAL, sleep=lambda _: None).start({}).run_id


def empty(url: str) -> None:
    with connect(url) as client:
        client.flushall()


def posts(arena: PlayedArena) -> int:
    count: int = arena.books().get("by_endpoint", {}).get("POST /runs", 0)
    return count


def test_starts_at_the_same_time_begin_one_run(arena: PlayedArena, tmp_path: Path) -> None:
    arena.start()
    folders = [tmp_path / str(number) for number in range(4)]
    with ThreadPoolExecutor(4) as threads:
        ids = set(threads.map(lambda folder: start(arena, folder), folders))
    assert len(ids) == 1
    assert len(arena.app.arena.runs.all()) == 1


def test_a_start_whose_answer_was_lost_is_found_and_not_repeated(arena: PlayedArena, tmp_path: Path) -> None:
    arena.start([{"endpoint": "POST /runs", "fault": "drop", "when": "after", "first": 1}])
    start(arena, tmp_path)
    assert posts(arena) == 1
    assert len(arena.pool.ledger.runs()) == 1


def test_a_refused_start_leaves_nothing_behind(arena: PlayedArena, tmp_path: Path) -> None:
    arena.start(window="closed")
    with pytest.raises(Refused):
        start(arena, tmp_path)
    assert arena.pool.ledger.openings() == []
    assert Notebook(tmp_path / "data").notes() == []


def test_a_run_that_redis_lost_comes_back_with_what_was_submitted(
    arena: PlayedArena, tmp_path: Path, redis_url: str
) -> None:
    arena.start()
    start(arena, tmp_path)
    mine = platform(arena, tmp_path)
    (run,) = (state.run for state in arena.pool.ledger.runs())
    mine._client.submit(run.ref, "t02", Solution(answer=1), Deadline.after(5))
    empty(redis_url)
    ref = FinalRun(arena.pool, mine, FINAL).under_way()
    assert ref == run.ref
    states = {task.task_id: task.status for task in arena.pool.ledger.tasks(ref)}
    assert states == {"t01": TaskStatus.QUEUED, "t02": TaskStatus.SUBMITTED, "t03": TaskStatus.QUEUED}
    again = arena.pool.ledger.run(ref)
    assert again is not None
    assert again.request == FINAL
    assert 1700 < again.seconds_left <= 1800


def test_a_final_run_without_any_record_is_taken_up_with_the_request_of_now(
    arena: PlayedArena, tmp_path: Path, redis_url: str
) -> None:
    arena.start()
    run_id = start(arena, tmp_path / "one")
    empty(redis_url)
    mine = platform(arena, tmp_path / "two")
    (row,) = situation(arena.pool.settings, arena.pool)
    assert row.here is None
    assert "`final` takes it up" in row.plan
    asked = FINAL.model_copy(update={"solver": "mine"})
    ref = FinalRun(arena.pool, mine, asked).under_way()
    assert ref is not None
    assert ref.run_id == run_id
    state = arena.pool.ledger.run(ref)
    assert state is not None
    assert state.request.solver == "mine"
    assert posts(arena) == 1


def test_a_dev_run_of_others_is_shown_and_left_alone(
    arena: PlayedArena, tmp_path: Path, redis_url: str
) -> None:
    arena.start()
    theirs = platform(arena, tmp_path / "one")
    open_run(arena.pool, theirs, RunRequest())
    empty(redis_url)
    platform(arena, tmp_path / "two")
    (row,) = situation(arena.pool.settings, arena.pool)
    assert (row.here, row.there, row.plan) == (None, "active, dev", "nothing: it was opened elsewhere")


def test_a_request_that_died_before_its_answer_is_found_by_its_note(
    arena: PlayedArena, tmp_path: Path, redis_url: str
) -> None:
    arena.start()
    mine = platform(arena, tmp_path)
    ref = open_run(arena.pool, mine, RunRequest(solver="mine"))
    notebook = Notebook(tmp_path / "data")
    (note,) = notebook.notes()
    notebook.write(note.model_copy(update={"ref": None}))
    empty(redis_url)
    (row,) = (row for row in situation(arena.pool.settings, arena.pool) if row.name == note.request_id)
    assert row.here == "lost"
    assert rebuild(arena.pool, mine, notebook.notes()[0]) == ref
    state = arena.pool.ledger.run(ref)
    assert state is not None
    assert state.request.solver == "mine"


def test_the_clock_of_the_machine_that_opened_a_run_has_no_say_in_finding_it(
    arena: PlayedArena, tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena.start()
    mine = platform(arena, tmp_path)
    true_time = time.time
    monkeypatch.setattr(time, "time", lambda: true_time() + 3600)
    ref = open_run(arena.pool, mine, RunRequest(seed=7))  # others may have chosen this seed: time must tell
    monkeypatch.undo()
    notebook = Notebook(tmp_path / "data")
    notebook.write(notebook.notes()[0].model_copy(update={"ref": None}))
    empty(redis_url)
    assert rebuild(arena.pool, mine, notebook.notes()[0]) == ref


def test_a_run_that_ended_meanwhile_is_only_closed(
    arena: PlayedArena, tmp_path: Path, redis_url: str
) -> None:
    arena.start()
    mine = platform(arena, tmp_path)
    ref = open_run(arena.pool, mine, RunRequest())
    mine._client.finish(ref, Deadline.after(5))
    empty(redis_url)
    (note,) = Notebook(tmp_path / "data").notes()
    assert rebuild(arena.pool, mine, note) == ref
    state = arena.pool.ledger.run(ref)
    assert state is not None
    assert state.status == "finishing"


@pytest.mark.parametrize(
    ("option", "value", "ok", "words"),
    [
        ("maxmemory-policy", "volatile-lru", True, "AOF on, volatile-lru"),
        ("maxmemory-policy", "noeviction", True, "AOF on, noeviction"),
        ("maxmemory-policy", "allkeys-lru", False, "allkeys-lru"),
        ("appendonly", "no", False, "AOF is off"),
    ],
)
def test_redis_must_keep_the_run_and_evict_nothing_but_blobs(
    arena: PlayedArena,
    tmp_path: Path,
    redis_client: redis.Redis,
    option: str,
    value: str,
    ok: bool,
    words: str,
) -> None:
    arena.start()
    mine = platform(arena, tmp_path)
    before: Any = redis_client.config_get(option)
    redis_client.config_set(option, value)
    try:
        lines = Preflight(arena.pool.settings, arena.pool, mine, FINAL).run()
    finally:
        redis_client.config_set(option, before[option])
    (line,) = (check for check in lines if check.what == "redis")
    assert line.ok is ok
    assert words in line.detail


def test_the_commit_is_named_and_changes_beside_our_own_folders_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert working_tree([]) == (None, [])
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.test"]
    (tmp_path / "harness.py").write_text("1\n")
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], check=True)
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "run.json").write_text("{}")
    commit, changes = working_tree([Path("archive"), Path(".scrimmage")])
    assert commit is not None
    assert len(commit) == 40
    assert changes == []
    (tmp_path / "harness.py").write_text("2\n")
    assert working_tree([Path("archive")])[1] == ["harness.py"]


def test_a_final_run_that_ended_unwatched_gets_its_receipt_all_the_same(
    arena: PlayedArena, tmp_path: Path
) -> None:
    arena.start()
    mine = platform(arena, tmp_path)
    ref = FinalRun(arena.pool, mine, FINAL).start({"team": "Team 1", "commit": "c0ffee"})
    held = arena.pool.ledger.lease_run(ref, "finisher", 10)
    assert held is not None
    arena.pool.ledger.sealed(held, RunStatus.FINISHED, Scorecard(status="finished"))
    archive = Archive(arena.pool.settings.archive)
    (row,) = close_due(arena.pool, archive)
    assert close_due(arena.pool, archive) == []
    receipt = (archive.folder(ref) / "receipt.txt").read_text()
    assert row.ref == ref
    assert "c0ffee" in receipt
    assert "t02: not submitted" in receipt
    assert Notebook(tmp_path / "data").notes() == []


def test_a_request_that_was_left_behind_long_ago_does_not_begin_the_final_run_by_itself(
    arena: PlayedArena, tmp_path: Path
) -> None:
    arena.start()
    mine = platform(arena, tmp_path)
    arena.pool.ledger.request_final(FINAL)
    assert FinalRun(arena.pool, mine, FINAL, stale_seconds=0).under_way() is None
    assert arena.pool.ledger.openings() == []
    assert posts(arena) == 0


def test_a_request_whose_sender_died_a_moment_ago_is_gone_on_with(arena: PlayedArena, tmp_path: Path) -> None:
    arena.start()
    mine = platform(arena, tmp_path)
    arena.pool.ledger.request_final(FINAL)
    assert FinalRun(arena.pool, mine, FINAL, start_seconds=0).under_way() is not None
    assert posts(arena) == 1


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, None),
        ({"version": "0.0.1"}, "workers"),
        ({"solvers": {"baseline": "other"}}, "solver"),
        ({"solvers": {}}, "solver"),
        ({"keys": {"arena": "other"}}, "keys"),
        ({"busy": 4}, "final slots"),
        ({"role": "solve"}, "final slots"),
    ],
)
def test_workers_that_differ_are_a_no_go(
    arena: PlayedArena, tmp_path: Path, change: dict[str, Any], line: str | None
) -> None:
    arena.start()
    mine = platform(arena, tmp_path)
    good = Heartbeat(
        node="final-1", host="one", pid=1, role="final", version=version("scrimmage"), slots=4,
        solvers={"baseline": "abc"}, keys={"arena": mine.account()},
    )  # fmt: skip
    arena.pool.fleet.beat(good)
    arena.pool.fleet.beat(good.model_copy(update={"node": "finish-1", "role": "finish", "slots": 0}))
    arena.pool.fleet.beat(
        good.model_copy(update=change if line == "final slots" else {"node": "final-2", **change})
    )
    found = {check.what: check.ok for check in Preflight(arena.pool.settings, arena.pool, mine, FINAL).run()}
    wrong = {what for what in ("workers", "final slots", "solver", "keys") if not found[what]}
    assert (line in wrong) if line else not wrong


def waiting(arena: PlayedArena, folder: Path) -> FinalRun:
    """A final run whose waits move the emulator's clock, and take no time. It waits twenty seconds longer."""
    mine = platform(arena, folder)
    clock = arena.app.arena.clock
    return FinalRun(arena.pool, mine, FINAL, sleep=clock.advance, clock=clock.ticks, late_seconds=20)


def test_the_wait_for_the_window_ends_when_it_opens(arena: PlayedArena, tmp_path: Path) -> None:
    arena.start(window="600..4000")
    began = arena.app.arena.clock.ticks()
    said: list[str] = []
    waiting(arena, tmp_path).wait_for_window(said.append)
    assert 600 <= arena.app.arena.clock.ticks() - began < 603
    (line,) = said
    assert line.startswith("waiting for the window: 60")


def test_a_window_that_does_not_open_is_not_waited_for_for_ever(arena: PlayedArena, tmp_path: Path) -> None:
    arena.start(window="600..600.001")
    began = arena.app.arena.clock.ticks()
    said: list[str] = []
    with pytest.raises(Refused, match="did not open"):
        waiting(arena, tmp_path).wait_for_window(said.append)
    assert 620 <= arena.app.arena.clock.ticks() - began < 625
    assert len(said) == 2


def test_a_platform_that_does_not_answer_is_not_waited_for_for_ever(
    arena: PlayedArena, tmp_path: Path
) -> None:
    arena.start([{"endpoint": "GET /me", "fault": "status", "status": 503}], window="600..4000")
    began = arena.app.arena.clock.ticks()
    said: list[str] = []
    with pytest.raises(Unavailable, match="does not answer"):
        waiting(arena, tmp_path).wait_for_window(said.append)
    assert 20 <= arena.app.arena.clock.ticks() - began < 30
    assert len(said) == 1
