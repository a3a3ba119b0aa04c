"""Plays scenarios: a scenario is a disturbance with a seed."""

from __future__ import annotations

import logging
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path

import structlog

from tests.chaos import disturbances
from tests.chaos.disturbance import CATALOGUE
from tests.chaos.invariants import NAMES, violations
from tests.chaos.stage import Stage

__all__ = ["CATALOGUE", "Played", "disturbances", "play", "play_all", "schedule"]


@dataclass(frozen=True)
class Played:
    """How a scenario went: by invariant what speaks against it, and what was measured."""

    name: str
    seed: int
    found: dict[str, list[str]]
    measured: dict[str, tuple[float, float]]
    seconds: float

    @property
    def passed(self) -> bool:
        return not any(self.found.values())


def schedule(names: Sequence[str], seed: int, scenarios: int) -> list[tuple[str, int]]:
    """So many scenarios: every disturbance with one seed, then every one with the next."""
    return list(islice(((name, number) for number in count(seed) for name in names), scenarios))


def play_all(pairs: Sequence[tuple[str, int]], jobs: int, keep: Path | None) -> Iterator[Played]:
    """Play scenarios, so many at a time, each as it ends.

    Args:
        keep: a folder for the folders of all scenarios; None: nothing is kept.
    """
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=20) as pool:
        under_way = [
            pool.submit(play, name, seed, keep / f"{name}-{seed}" if keep else None) for name, seed in pairs
        ]
        for one in as_completed(under_way):
            yield one.result()


def play(name: str, seed: int, folder: Path | None = None) -> Played:
    """Play one scenario on a stage of its own.

    Args:
        folder: for logs and data, which then stay there; None: a temporary one.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as temporary:
            return play(name, seed, Path(temporary))
    folder.mkdir(parents=True, exist_ok=True)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    chosen = CATALOGUE[name]
    began = time.monotonic()
    measured: dict[str, tuple[float, float]] = {}
    try:
        with Stage(chosen.setup, seed, folder) as stage:
            measured = stage.measured
            chosen.act(stage)
            in_time = stage.until_ended(chosen.seconds)
            found = violations(stage, chosen.excused)
            if not in_time:
                found["ends"].append(f"not within {chosen.seconds:g} s: {stage.opened}")
    except Exception:  # a scenario that cannot be played has failed, and the others go on
        found = {invariant: [] for invariant in NAMES} | {"ends": [traceback.format_exc()]}
    return Played(name, seed, found, measured, time.monotonic() - began)
