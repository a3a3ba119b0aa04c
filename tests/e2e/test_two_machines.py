"""Two worker machines: nothing in common but Redis, both at work on one run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from emulators.serve import ArenaEmulator
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from tests.e2e.conftest import terminal_for
from tests.support.command import Terminal
from tests.support.playing import wait_for
from tests.support.supervised import ROOT, toy_variables


def test_two_workers_that_share_only_redis_both_solve_tasks_of_one_run(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path / "redis") as server:
        shared = {**toy_variables(), "SCRIMMAGE_REDIS_URL": server.url, "TOY_SECONDS": "1.0"}
        shared |= {"SCRIMMAGE_PROCESSES": "1", "SCRIMMAGE_THREADS": "2"}
        one, two = (Terminal(tmp_path / name, HOME=str(tmp_path / name), **shared) for name in ("one", "two"))
        person = Terminal(tmp_path / "person", **shared)
        workers = [one.start("worker"), two.start("worker", "--role", "solve")]
        try:
            with Pool(Settings.load(_env_file=None, redis_url=server.url)) as pool:
                wait_for(lambda: len(pool.fleet.live()) == 4, 60, "three nodes and one beat")
            played = person.run(
                "run", "--platform", "toy", "--solver", "slow", "--option", "tasks=16", "--json"
            )
            assert played.code == 0, played.err
            run_id = played.json["runs"][0]["run_id"]
            pids = _solving_pids(person.folder / "archive" / "toy" / run_id / "events.jsonl")
            assert {psutil.Process(pid).ppid() for pid in pids} == {worker.process.pid for worker in workers}
        finally:
            ended = [worker.interrupt() for worker in workers]
        assert [end.code for end in ended] == [0, 0], [end.err for end in ended]


@pytest.mark.optin
@pytest.mark.timeout(600)
def test_two_installations_of_their_own_both_solve_tasks_of_one_run(tmp_path: Path) -> None:
    """As above, each worker from a virtual environment that nothing but the built package is installed in."""
    with RedisServer.start(tmp_path / "redis") as server, ArenaEmulator.start() as emulator:
        shared = {"SCRIMMAGE_REDIS_URL": server.url, "SCRIMMAGE_PROCESSES": "1", "SCRIMMAGE_THREADS": "2"}
        person = terminal_for(tmp_path / "person", emulator, **shared)
        settings = {name: person.variables[name] for name in ("SCRIMMAGE_ARENA_URL", "SCRIMMAGE_ARENA_KEY")}
        with ExitStack() as stack:
            workers = []
            for name in ("one", "two"):
                home = tmp_path / name
                program = _installed(home)
                log = stack.enter_context((home / "worker.log").open("wb"))
                worker = subprocess.Popen(
                    [program, "worker"],
                    cwd=home,
                    env={"PATH": "/usr/bin:/bin", "HOME": str(home), **shared, **settings},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
                stack.callback(worker.wait, 60)
                stack.callback(worker.terminate)
                workers.append(worker)
            with Pool(Settings.load(_env_file=None, redis_url=server.url)) as pool:
                wait_for(lambda: len(pool.fleet.live()) == 6, 90, "three nodes of each machine beat")
            played = person.run("run", "--solver", "baseline", "--json")
            assert played.code == 0, played.err
            run_id = played.json["runs"][0]["run_id"]
            pids = _solving_pids(person.folder / "archive" / "arena" / run_id / "events.jsonl")
            assert {psutil.Process(pid).ppid() for pid in pids} == {worker.pid for worker in workers}


def _installed(home: Path) -> Path:
    """A virtual environment in ``home`` with the package built from the checkout; its `scrimmage`."""
    uv = [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") else ["uv"]
    python = home / "venv" / "bin" / "python"
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, home / "venv"], check=True)
    subprocess.run([*uv, "pip", "install", "--quiet", "--python", python, ROOT], check=True)
    return python.with_name("scrimmage")


def _solving_pids(events: Path) -> set[int]:
    """The processes that leased tasks: a lease's owner is called host-pid-token."""
    owners = [
        event["data"]["owner"]
        for event in map(json.loads, events.read_text().splitlines())
        if event["name"] == "leased"
    ]
    return {int(owner.rsplit("-", 2)[1]) for owner in owners}
