"""A large sweep and a run that starts later, on real workers: the later one gets its turn at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from producer.archive import Archive
from producer.sweeps import Sweep, play, requests_of
from shared.models import RunRequest
from shared.pool.pool import Pool
from shared.settings import Settings
from tests.support.playing import toy_settings, wait_for
from tests.support.supervised import Supervised
from tests.support.toy_platform import ToyPlatform

SLOTS = 4
WAITING = 16
"""Jobs that may stand in the broker's queue before the later run's first one."""
IN_FLIGHT = 4
RUNS, TASKS = 5, 60
LATE_TASKS = 6


@pytest.fixture
def settings(redis_url: str, tmp_path: Path) -> Settings:
    return toy_settings(redis_url, data=tmp_path / "data", archive=tmp_path / "archive")


@pytest.fixture
def workers(settings: Settings, tmp_path: Path) -> Iterator[Supervised]:
    workers = Supervised(
        settings,
        tmp_path,
        *("--role", "solve", "finish", "--processes", "2", "--threads", str(SLOTS // 2)),
        environment={"TOY_SECONDS": "0.15"},
    )
    workers.wait_until_live(3)
    yield workers
    assert workers.stop() == 0


def a_sweep(settings: Settings, runs: int, tasks: int, in_flight: int, seen: list[int]) -> Sweep:
    """Play runs as the command does, over a connection of its own; ``seen`` gets how many have ended."""
    template = RunRequest(platform="toy", options={"tasks": tasks})
    requests = requests_of(template, runs=runs, seeds=(), solvers=("slow",))
    with Pool.connect(settings) as pool:
        return play(
            pool,
            ToyPlatform.create(settings, pool),
            requests,
            in_flight=in_flight,
            archive=Archive(settings.archive),
            view=lambda sweep: seen.append(len(sweep.done)),
        )


def test_a_run_that_starts_after_a_large_sweep_is_served_in_turn(
    settings: Settings, workers: Supervised
) -> None:
    ended: list[int] = []
    crowd = threading.Thread(target=a_sweep, args=(settings, RUNS, TASKS, IN_FLIGHT, ended), daemon=True)
    crowd.start()
    wait_for(lambda: len(workers.pool.ledger.runs()) == IN_FLIGHT, 30, "the sweep is under way")
    late = a_sweep(settings, 1, LATE_TASKS, 1, []).done[0]
    left = RUNS - ended[-1]
    crowd.join(100)
    assert ended[-1] == RUNS

    assert late.tasks_submitted == LATE_TASKS
    others = _leased_before_its_turn(settings.archive, late.run_id)
    print(f"{late.wall_seconds:.1f} s; {others} tasks of others began meanwhile, {left} of {RUNS} runs left")
    assert others <= IN_FLIGHT * TASKS / 2, "a queue without turns would have let all of them go first"
    assert left >= IN_FLIGHT, "the sweep goes on after the later run's end"


def _leased_before_its_turn(archive: Path, late: str) -> int:
    """How many tasks of other runs began between the later run's opening and its last task's beginning."""
    begun: list[float] = []
    opened = last = 0.0
    for path in archive.glob("toy/*/events.jsonl"):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        leased = [event["at"] for event in events if event["name"] == "leased"]
        if path.parent.name == late:
            opened, last = events[0]["at"], max(leased)
        else:
            begun += leased
    return sum(opened < at < last for at in begun)
