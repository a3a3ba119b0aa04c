"""``python -m tests.chaos.rehearsals``: `scrimmage final --rehearse` while what it has started is killed.

The command plays a final run of 90 s, with faults of its own choosing. From outside, nodes and supervisors of
its workers are killed again and again, and its Redis once. A try is good where the command says that the
rehearsal passed (closed by us before the deadline, none submitted twice, nothing solved left) and at least 29
of 30 tasks are submitted.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.chaos.stage import kill
from tests.support.command import Running, Terminal
from tests.support.final_solvers import SETTING

LEAST = 29
KILLS = 8
_SECONDS = 240.0
_COMMAND = ("final", "--rehearse", "--solver", "unhurried", "--accept", "working tree", "--json")


@dataclass(frozen=True)
class Try:
    """How one try went. ``killed``: what was killed, in order."""

    number: int
    good: bool
    detail: str
    killed: list[str]
    seconds: float


def rehearse(number: int, commands: list[Running]) -> Try:
    """One try.

    Args:
        number: seed of moments and victims.
        commands: the command is added, for whoever wants to end it.
    """
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rehearsal-", ignore_cleanup_errors=True) as folder:
        terminal = Terminal(
            Path(folder), SCRIMMAGE_SOLVERS=SETTING, SCRIMMAGE_THREADS="8", SCRIMMAGE_ARENA_KEY="arena_none"
        )
        command = terminal.start(*_COMMAND)
        commands.append(command)
        try:
            command.wait_for_text("has begun", 120)
            killed = _kill_again_and_again(command, random.Random(number))
            ended = command.ended(_SECONDS)
        except Exception as error:  # a try that cannot be played is not a good one, and the others go on
            return Try(number, False, f"{error}\n{command.err}", [], time.monotonic() - began)
        finally:
            command.kill()
        if ended.code not in {0, 1}:
            return Try(number, False, f"exit {ended.code}: {ended.err}", killed, time.monotonic() - began)
        (row,), verdict = ended.json["runs"], ended.json["rehearsal"]
        good = verdict["passed"] and row["tasks_submitted"] >= LEAST
        detail = verdict["detail"] if good else f"{verdict['detail']}; {row['failures']}"
        return Try(number, good, detail, killed, time.monotonic() - began)


def _kill_again_and_again(command: Running, chance: random.Random) -> list[str]:
    """Kill a process of the pool, drawn from all, every one to three seconds; the server of Redis once."""
    killed = []
    redis_falls = chance.randrange(KILLS)
    for number in range(KILLS):
        time.sleep(chance.uniform(1, 3))
        workers = dict(_named(command, "workers.process", "workers.supervise"))
        victims = [chance.choice(sorted(workers))] if workers else []
        kill([workers[name] for name in victims])
        if number == redis_falls:
            servers = dict(_named(command, "valkey-server", "redis-server"))
            kill(list(servers.values()))
            victims += servers
        killed += victims
    return killed


def _named(command: Running, *words: str) -> Iterator[tuple[str, psutil.Process]]:
    """Processes below the command whose line has one of the words, by what they are."""
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(command.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                line = " ".join(process.cmdline())
                for word in words:
                    if word in line:
                        node = line.partition("workers.process ")[2].partition("-")[0]
                        yield f"{node or word} {process.pid}", process


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Exit status 1 where a try was not good."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.rehearsals", description=__doc__)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the first try")
    parser.add_argument("--jobs", type=int, default=1, help="tries at a time")
    given = parser.parse_args(arguments)
    numbers = range(given.seed, given.seed + given.tries)
    commands: list[Running] = []
    tries: list[Try] = []
    with ThreadPoolExecutor(given.jobs) as threads:
        under_way = [threads.submit(rehearse, number, commands) for number in numbers]
        try:
            for each in under_way:
                tries.append(each.result())
                _tell(tries[-1])
        except KeyboardInterrupt:
            threads.shutdown(wait=False, cancel_futures=True)
            for command in commands:
                command.kill()
    good = sum(one.good for one in tries)
    print(f"{good} of {len(tries)} tries were good")
    if len(tries) < given.tries:
        return 130
    return 0 if good == given.tries else 1


def _tell(one: Try) -> None:
    verdict = "good" if one.good else "NOT GOOD"
    print(f"{one.number:>3}  {verdict}  {one.seconds:4.0f} s  {one.detail}", flush=True)
    print(f"     killed: {', '.join(one.killed)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
