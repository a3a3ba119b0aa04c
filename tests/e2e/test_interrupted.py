"""What a person interrupts or gets wrong: nothing is lost, and the message says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import terminal_for
from tests.support.command import Terminal
from tests.support.emulated import ArenaHere

SMALL = {"SCRIMMAGE_PROCESSES": "1", "SCRIMMAGE_THREADS": "8"}
TASKS = "tasks=24"
"""On so few slots they last three seconds at least: time enough to interrupt them."""


@pytest.fixture(scope="module")
def emulator() -> Iterator[ArenaHere]:
    with ArenaHere() as emulator:
        yield emulator


@pytest.fixture
def terminal(tmp_path: Path, emulator: ArenaHere) -> Terminal:
    return terminal_for(tmp_path, emulator, **SMALL)


def test_ctrl_c_leaves_a_run_that_resume_brings_to_its_end(terminal: Terminal) -> None:
    running = terminal.start("run", "--platform", "toy", "--solver", "slow", "--option", TASKS)
    running.wait_for_text("solved ")
    ended = running.interrupt()
    assert ended.code == 130
    assert "scrimmage resume" in ended.err
    resumed = terminal.run("resume", "--json")
    assert resumed.code == 0, resumed.err
    (row,) = resumed.json["runs"]
    assert (row["status"], row["tasks_submitted"]) == ("finished", 24)


@pytest.mark.chaos
def test_a_killed_command_leaves_no_process_and_a_run_that_resume_brings_to_its_end(
    terminal: Terminal,
) -> None:
    running = terminal.start("run", "--platform", "toy", "--solver", "slow", "--option", TASKS)
    running.wait_for_text("solved ")
    its_own = psutil.Process(running.process.pid).children(recursive=True)
    assert any("workers.supervise" in process.cmdline() for process in its_own)
    running.kill()
    assert psutil.wait_procs(its_own, timeout=20)[1] == []
    resumed = terminal.run("resume", "--json")
    assert resumed.code == 0, resumed.err
    (row,) = resumed.json["runs"]
    assert (row["status"], row["tasks_submitted"]) == ("finished", 24)


@pytest.mark.chaos
def test_workers_whose_supervisor_was_killed_are_started_again(terminal: Terminal) -> None:
    running = terminal.start("run", "--platform", "toy", "--solver", "slow", "--option", TASKS, "--json")
    running.wait_for_text("solved ")
    (supervisor,) = (
        process
        for process in psutil.Process(running.process.pid).children()
        if "workers.supervise" in process.cmdline()
    )
    supervisor.kill()
    ended = running.ended()
    assert ended.code == 0, ended.err
    assert "starting them again" in ended.err
    (row,) = ended.json["runs"]
    assert (row["status"], row["tasks_submitted"]) == ("finished", 24)


@pytest.mark.parametrize(
    ("arguments", "variables", "code", "words"),
    [
        (("run", "--json"), {"SCRIMMAGE_ARENA_KEY": "arena_wrong"}, 3, "API key"),
        (("run",), {"SCRIMMAGE_ARENA_URL": "ftp://arena"}, 2, "SCRIMMAGE_ARENA_URL"),
        (("run",), {"SCRIMMAGE_SOLVERS": "mine=module"}, 2, "SCRIMMAGE_SOLVERS: expected name=module:Class"),
        (("worker",), {}, 2, "SCRIMMAGE_REDIS_URL is not set"),
    ],
)
def test_what_is_wrong_is_said_with_its_exit_code(
    terminal: Terminal, arguments: tuple[str, ...], variables: dict[str, str], code: int, words: str
) -> None:
    ended = terminal.run(*arguments, **variables)
    assert words in ended.err
    assert ended.code == code
    assert "Traceback" not in ended.err
    if "--json" in arguments:
        assert words in ended.json["error"]


def test_a_platform_that_does_not_answer_is_an_error_with_a_name_and_an_end(terminal: Terminal) -> None:
    url = "http://127.0.0.1:9/api/v1"
    ended = terminal.run("run", "--solver", "empty", SCRIMMAGE_ARENA_URL=url)
    assert ended.code == 1
    assert f"{url} does not answer (Connection refused); trying again until" in ended.err
    assert "is SCRIMMAGE_ARENA_URL right, and the server up?" in ended.err
    assert "workers" not in ended.err, "it is told before a pool is brought up"
    assert "Traceback" not in ended.err
