"""The final run as a person plays it: no-go, wait, one start, rejoining, the seal before the deadline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from shared.pool.server import RedisServer
from tests.e2e.test_resume import ACCEPTED, account, assert_each_once, submits, terminal_for
from tests.support.emulated import ArenaHere
from tests.support.playing import wait_for


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A pool without workers: enough to be told no."""
    with RedisServer.start(tmp_path_factory.mktemp("redis")) as server:
        yield server.url


@pytest.mark.parametrize(
    ("window", "line", "words"),
    [
        ("closed", "window", "closed, and no later opening is announced"),
        ("none", "window", "closed, and no later opening is announced"),
        ("630..4000", "window", "opens in 10:"),
        ("0..30", "minutes", "the window closes before"),
    ],
)
def test_what_the_platform_does_not_allow_is_a_no_go_that_starts_nothing(
    tmp_path: Path, redis: str, window: str, line: str, words: str
) -> None:
    with ArenaHere(window=window) as emulator:
        terminal = terminal_for(tmp_path, emulator, SCRIMMAGE_REDIS_URL=redis)
        ended = terminal.run("final", "--json", *ACCEPTED)
        assert ended.code == 3, ended.err
        (found,) = (check for check in _preflight(ended.out) if check["what"] == line)
        assert found["ok"] is False
        assert words in found["detail"]
        assert not any(name.startswith("POST") for name in account(emulator)["by_endpoint"])


def test_a_final_run_that_was_used_is_a_no_go(tmp_path: Path, redis: str) -> None:
    with ArenaHere() as emulator:
        _play_by_hand(emulator)
        terminal = terminal_for(tmp_path, emulator, SCRIMMAGE_REDIS_URL=redis)
        ended = terminal.run("final", *ACCEPTED)
        assert ended.code == 3, ended.err
        assert "it was used already" in ended.err


def test_each_line_that_is_wrong_here_is_named_and_nothing_starts(tmp_path: Path, redis: str) -> None:
    with ArenaHere() as emulator:
        terminal = terminal_for(
            tmp_path, emulator, SCRIMMAGE_REDIS_URL=redis, SCRIMMAGE_MODEL="m", SCRIMMAGE_MODEL_KEY="dev-key"
        )
        ended = terminal.run("final", "--json")
        assert ended.code == 2, ended.err
        wrong = {check["what"] for check in _preflight(ended.out) if check["ok"] is False}
        assert wrong == {"model", "workers", "final slots", "solver", "keys", "working tree", "rehearsal"}
        assert "SCRIMMAGE_EVAL_MODEL_KEY" in ended.out
        wrong_key = terminal.run("final", SCRIMMAGE_ARENA_KEY="arena_nobody")
        assert wrong_key.code == 3, wrong_key.err
        not_to_accept = terminal.run("final", "--accept", "window")
        assert not_to_accept.code == 2
        assert "no check of that name that could be accepted" in not_to_accept.err
        assert not any(name.startswith("POST") for name in account(emulator)["by_endpoint"])


@pytest.mark.optin  # half a minute; starts at the same time are in tests/integration/producer/test_final.py
def test_two_starts_that_wait_for_the_window_play_one_run(tmp_path: Path) -> None:
    with ArenaHere(window="15..4000") as emulator:
        terminal = terminal_for(tmp_path, emulator)
        up = terminal.start("up")
        try:
            up.wait_for_text("ready")
            wrong = terminal.run("final", "--solver", "careful", "--wait", *ACCEPTED[:-1], "Team 2")
            assert wrong.code == 2, wrong.err
            assert "is not the team's name" in wrong.err
            command = ("final", "--solver", "unhurried", "--wait", "--json", *ACCEPTED)
            starts = [terminal.start(*command) for _ in range(2)]
            ends = [start.ended() for start in starts]
        finally:
            up.interrupt()
        assert [end.code for end in ends] == [0, 0], [end.err for end in ends]
        rows = [end.json["runs"][0] for end in ends]
        assert rows[0]["run_id"] == rows[1]["run_id"]
        assert rows[0]["tasks_submitted"] == 30
        assert_each_once(emulator)
        assert account(emulator)["by_endpoint"]["POST /runs"] <= 2
        receipt = json.loads(Path(tmp_path, ends[0].json["receipt"]).with_suffix(".json").read_text())
        assert receipt["team"] == "Team 1"
        assert receipt["tasks_submitted"] == 30
        assert emulator.key not in json.dumps(receipt)


@pytest.mark.optin  # it takes the whole of its deadline
def test_a_killed_final_is_rejoined_and_sealed_before_its_deadline(tmp_path: Path) -> None:
    """Ten tasks never get an answer in time: the others are handed in, and the run is closed by us."""
    with ArenaHere(deadline=45) as emulator:
        terminal = terminal_for(tmp_path, emulator)
        first = terminal.start("final", "--solver", "reluctant", *ACCEPTED)
        first.wait_for_text("has begun")
        wait_for(lambda: len(submits(emulator)) >= 1, 60, "an answer is banked")
        first.kill()
        second = terminal.run("final", "--solver", "reluctant", "--json")
        assert "is under way: rejoining it" in second.err
        assert second.code == 1, second.err
        (row,) = second.json["runs"]
        assert row["status"] == "finished"
        assert row["tasks_submitted"] >= 20
        assert set(submits(emulator).values()) == {1}
        (shown,) = _runs(emulator)
        assert shown["status"] == "finished"
        assert shown["finished_at"] < shown["deadline_at"]


@pytest.mark.optin
@pytest.mark.timeout(400)
def test_a_rehearsal_passes_and_is_what_preflight_asks_for(tmp_path: Path) -> None:
    with ArenaHere() as emulator:
        terminal = terminal_for(tmp_path, emulator)
        rehearsed = terminal.run(
            "final", "--rehearse", "--solver", "careful", "--accept", "working tree", "--json", seconds=300
        )
        assert rehearsed.code == 0, rehearsed.err
        assert rehearsed.json["rehearsal"]["passed"] is True
        assert not account(emulator)
        other = terminal.run("final", "--solver", "unhurried", "--json")
        assert _check(other.out, "rehearsal")["ok"] is False
        same = terminal.run("final", "--solver", "careful", "--json")
        assert _check(same.out, "rehearsal")["ok"] is True


def _preflight(out: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(out)["preflight"]
    return found


def _check(out: str, what: str) -> dict[str, object]:
    return next(check for check in _preflight(out) if check["what"] == what)


def _client(emulator: ArenaHere) -> httpx.Client:
    headers = {"authorization": f"Bearer {emulator.key}"}
    return httpx.Client(base_url=emulator.url, headers=headers, trust_env=False)


def _play_by_hand(emulator: ArenaHere) -> None:
    with _client(emulator) as client:
        run = client.post("/runs", json={"kind": "final"}).json()["run_id"]
        client.post(f"/runs/{run}/finish").raise_for_status()


def _runs(emulator: ArenaHere) -> list[dict[str, str]]:
    with _client(emulator) as client:
        found: list[dict[str, str]] = client.get("/runs").json()["runs"]
        return found
