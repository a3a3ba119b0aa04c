"""Plays scenarios: a scenario is a disturbance with a seed. Each has a process of its own."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

import psutil
import structlog

from tests.chaos import disturbances
from tests.chaos.defects import DEFECTS
from tests.chaos.disturbance import CATALOGUE, Disturbance
from tests.chaos.invariants import NAMES, violations
from tests.chaos.stage import Stage

__all__ = ["CATALOGUE", "Play", "Played", "disturbances", "play", "play_all", "schedule"]

LIMIT_SECONDS = 300.0
"""A scenario that takes longer is ended and has failed."""

_CLEAN_SECONDS = 30.0
"""Time for a scenario that was told to end to take its processes along."""

_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.chaos.play"])


@dataclass(frozen=True)
class Play:
    """What to play: a disturbance by name, a seed, and perhaps a defect."""

    name: str
    seed: int
    defect: str | None = None

    @property
    def folder(self) -> str:
        """Its name as a folder's."""
        return "-".join([self.name, str(self.seed), *([self.defect] if self.defect else [])])

    def __str__(self) -> str:
        return f"{self.name} --seed {self.seed}" + (f" with {self.defect}" if self.defect else "")


@dataclass(frozen=True)
class Played:
    """How a scenario went: by invariant what speaks against it, what was measured, what else to tell."""

    play: Play
    found: dict[str, list[str]]
    measured: dict[str, tuple[float, float]] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def broken(self) -> list[str]:
        """The invariants that were broken."""
        return [name for name, lines in self.found.items() if lines]

    @classmethod
    def failed(cls, play: Play, why: str, seconds: float) -> Played:
        """A scenario that could not be played to its end."""
        return cls(play, {name: [] for name in NAMES} | {"ends": [why]}, seconds=seconds)


def schedule(names: Sequence[str], seed: int, scenarios: int) -> list[Play]:
    """So many scenarios: every disturbance with one seed, then every one with the next."""
    return list(islice((Play(name, number) for number in count(seed) for name in names), scenarios))


def play_all(plays: Sequence[Play], jobs: int, keep: Path | None = None) -> Generator[Played, None, None]:
    """Play scenarios, so many at a time, each as it ends. Closing the iterator ends those under way.

    Args:
        keep: a folder for the folders of all scenarios; None: nothing is kept.
    """
    waiting = deque(plays)
    under_way: list[_UnderWay] = []
    try:
        while waiting or under_way:
            while waiting and len(under_way) < jobs:
                one = waiting.popleft()
                under_way.append(_UnderWay(one, keep / one.folder if keep else None))
            connection.wait([each.result for each in under_way], timeout=1.0)
            for each in list(under_way):
                if each.over:
                    under_way.remove(each)
                    yield each.played()
    finally:
        for each in under_way:
            each.tell_to_end()
        for each in under_way:
            each.end()


class _UnderWay:
    """A scenario in its process."""

    def __init__(self, play: Play, folder: Path | None) -> None:
        self._play = play
        self._began = time.monotonic()
        self.result, theirs = _FORKS.Pipe(duplex=False)
        self._process: BaseProcess = _FORKS.Process(target=_in_a_process, args=(play, folder, theirs))
        self._process.start()
        theirs.close()

    @property
    def over(self) -> bool:
        return self.result.poll() or self._seconds > LIMIT_SECONDS

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def played(self) -> Played:
        """How it went, once it is over."""
        try:
            played: Played = self.result.recv() if self.result.poll() else self._too_long()
        except EOFError:
            played = Played.failed(self._play, "its process ended without a word", self._seconds)
        self.end()
        return played

    def _too_long(self) -> Played:
        self.tell_to_end()
        return Played.failed(self._play, f"the scenario took longer than {LIMIT_SECONDS:g} s", self._seconds)

    def tell_to_end(self) -> None:
        self._process.terminate()

    def end(self) -> None:
        """Wait for its end, and see to it."""
        self._process.join(_CLEAN_SECONDS)
        if self._process.is_alive():
            assert self._process.pid is not None
            family = psutil.Process(self._process.pid)
            for process in [*family.children(recursive=True), family]:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            self._process.join()
        self.result.close()


def _in_a_process(play_: Play, folder: Path | None, result: Connection) -> None:
    os.setsid()  # Ctrl-C is for the command, which then says SIGTERM
    signal.signal(signal.SIGTERM, _leave)
    result.send(play(play_, folder))


def _leave(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(143)


def play(what: Play, folder: Path | None = None) -> Played:
    """Play one scenario on a stage of its own.

    Args:
        folder: for logs and data, which then stay there; None: a temporary one.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as temporary:
            return play(what, Path(temporary))
    folder.mkdir(parents=True, exist_ok=True)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    chosen = _chosen(what)
    began = time.monotonic()
    try:
        with Stage(chosen.setup, what.seed, folder, what.defect) as stage:
            _act(chosen, stage)
            in_time = stage.until_ended(chosen.seconds)
            found = violations(stage, chosen.excused)
            if not in_time:
                found["ends"].append(f"not within {chosen.seconds:g} s: {stage.opened}")
    except Exception:  # a scenario that cannot be played has failed, and the others go on
        return Played.failed(what, traceback.format_exc(), time.monotonic() - began)
    return Played(what, found, stage.measured, stage.told, time.monotonic() - began)


def _act(chosen: Disturbance, stage: Stage) -> None:
    try:
        chosen.act(stage)
    except Exception as error:
        for command in stage.commands:
            error.add_note(command.err)
        raise


def _chosen(what: Play) -> Disturbance:
    chosen = CATALOGUE[what.name]
    if what.defect is None:
        return chosen
    defect = DEFECTS[what.defect]
    return replace(chosen, setup=replace(chosen.setup, **defect.setup), seconds=defect.within)
