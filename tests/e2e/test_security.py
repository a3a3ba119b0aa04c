"""Keys stay where they belong: a run whose solver and platform tell them leaves no trace of them."""

from __future__ import annotations

import base64
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from emulators.arena.api import PREFIX
from emulators.arena.app import create_app
from emulators.arena.options import ArenaOptions
from emulators.server import ThreadedServer
from tests.support.arena import tiny
from tests.support.brokers import redis_behind_password
from tests.support.command import Ended, Terminal
from tests.support.echoing import Echoing
from tests.support.playing import wait_for

MARK = "MARKED"
KEYS = {
    "SCRIMMAGE_ARENA_KEY": "arena_MARKEDarena0001",
    "SCRIMMAGE_MODEL_KEY": "MARKEDmodel0002",
    "SCRIMMAGE_EVAL_MODEL_KEY": "MARKEDeval0003",
}
REDIS_PASSWORD = "MARKEDredis0004"


@dataclass(frozen=True)
class Played:
    """One run that was played with marked keys, and everything that could tell them."""

    terminal: Terminal
    redis_folder: Path
    run_id: str
    commands: dict[str, Ended]
    flower_pages: dict[str, str]
    command_lines: list[str]
    told_by_platform: int

    def tasks(self) -> dict[str, dict[str, Any]]:
        lines = (self.archived() / "tasks.jsonl").read_text().splitlines()
        return {task["task_id"]: task for task in map(json.loads, lines)}

    def archived(self) -> Path:
        return self.terminal.folder / "archive" / "arena" / self.run_id

    def log(self) -> str:
        return (self.terminal.folder / ".scrimmage" / "worker.log").read_text()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("marked")
    options = ArenaOptions.of({"limit": False, "keys": (KEYS["SCRIMMAGE_ARENA_KEY"],)})
    arena = Echoing(create_app(options, build=tiny))
    with (
        ThreadedServer(arena) as server,
        redis_behind_password(folder / "redis", REDIS_PASSWORD) as redis_url,
    ):
        terminal = Terminal(
            folder / "person",
            **KEYS,
            SCRIMMAGE_REDIS_URL=redis_url,
            SCRIMMAGE_ARENA_URL=server.url + PREFIX,
            SCRIMMAGE_PROCESSES="1",
            SCRIMMAGE_MODEL="stand-in",
            SCRIMMAGE_MODEL_URL=server.url + "/model",
            SCRIMMAGE_SOLVERS="indiscreet=tests.support.arena_solvers:Indiscreet",
        )
        up = terminal.start("up", "--flower")
        try:
            said = up.wait_for_text("ready")
            flower = re.search(r"flower\s+(\S+) \(user scrimmage, password (\S+)\)", said)
            assert flower is not None
            lines = [" ".join(child.cmdline()) for child in psutil.Process(up.process.pid).children(True)]
            run = terminal.run("run", "--solver", "indiscreet", "--json")
            run_id = run.json["runs"][0]["run_id"]
            commands = {
                "run": run,
                "show": terminal.run("show", run_id),
                **{f"show {task}": terminal.run("show", run_id, task) for task in ("t01", "t03")},
                "status": terminal.run("status"),
                "doctor --json": terminal.run("doctor", "--json"),
                "wrong key": terminal.run("run", SCRIMMAGE_ARENA_KEY="arena_MARKEDwrong0005"),
                "wrong password": terminal.run(
                    "status", SCRIMMAGE_REDIS_URL=redis_url.replace("redis0004", "wrong0006")
                ),
                "wrong broker": terminal.run(
                    "doctor", SCRIMMAGE_BROKER_URL="redis://:MARKEDwrong0007@127.0.0.1:9/0"
                ),
            }
            pages = _pages(flower[1], flower[2], run_id)
        finally:
            ended = up.interrupt()
        assert ended.code == 0, ended.err
        yield Played(terminal, folder / "redis", run_id, {**commands, "up": ended}, pages, lines, arena.told)


def _pages(flower: str, password: str, run_id: str) -> dict[str, str]:
    """Flower's API and its pages, once it has seen the run."""
    token = base64.b64encode(f"scrimmage:{password}".encode()).decode()

    def page(path: str) -> str:
        request = urllib.request.Request(flower + path, headers={"Authorization": f"Basic {token}"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            return f"HTTP {error.code} {error.read().decode()}"

    wait_for(lambda: run_id in page("/api/tasks?limit=5000"), 20, "Flower sees the run")
    workers = json.loads(page("/api/workers?refresh=1"))
    paths = ["/api/tasks?limit=5000", "/api/workers?refresh=1", "/workers", "/tasks", "/broker"]
    paths += ["/api/queues/length", *(f"/worker/{name}" for name in workers)]
    return {path: page(path) for path in paths}


def test_the_keys_were_told_in_every_way_that_is_looked_for(played: Played) -> None:
    tasks = played.tasks()
    assert played.told_by_platform >= 3
    assert tasks["t01"]["reason"].startswith("the solver raised ValueError: raised ***")
    assert "holds a key or a password" in tasks["t02"]["reason"]
    assert "[key]" in tasks["t03"]["effects"][0]["error"]
    assert "[key]" in tasks["t03"]["receipt"]["reason"]
    for told in ("printed ***", "logged ***"):
        assert told in played.log()
    raised, refused = (
        (played.archived() / "transcripts" / f"{task}.jsonl").read_text() for task in ("t01", "t03")
    )
    assert "raised ***" in raised
    assert "Traceback" in raised
    assert "no model" in refused
    assert refused.count("not with Bearer ***") >= 2


def test_no_key_is_in_archive_logs_flower_or_redis_files(played: Played) -> None:
    files = [path for path in played.terminal.folder.rglob("*") if path.is_file()]
    files += [path for path in played.redis_folder.rglob("*") if path.is_file()]
    names = {path.name for path in files}
    assert {"worker.log", "flower.log", "run.json", "tasks.jsonl", "events.jsonl", "redis.log"} <= names
    assert any(name.endswith(".incr.aof") for name in names)
    assert [path for path in files if MARK.encode() in path.read_bytes()] == []


def test_no_key_is_in_what_commands_say(played: Played) -> None:
    assert {name: ended.code for name, ended in played.commands.items() if name.startswith("wrong")} == {
        "wrong key": 2, "wrong password": 2, "wrong broker": 1,
    }  # fmt: skip
    assert [name for name, ended in played.commands.items() if MARK in ended.out + ended.err] == []


def test_no_key_is_on_a_command_line(played: Played) -> None:
    assert any("flower" in line for line in played.command_lines)
    assert [line for line in played.command_lines if MARK in line or "basic" in line.lower()] == []


def test_no_key_is_in_what_flower_shows(played: Played) -> None:
    assert f"arena {played.run_id} t01 indiscreet" in played.flower_pages["/api/tasks?limit=5000"]
    assert [path for path, page in played.flower_pages.items() if MARK in page] == []
    assert "broker_url" in played.flower_pages["/api/workers?refresh=1"]
