"""Runs of one sweep that end at the same time keep the same files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from producer.archive import write_bytes

THREADS, FILES = 8, 50


def test_files_that_several_runs_keep_at_once_are_whole(tmp_path: Path) -> None:
    together = Barrier(THREADS)
    data = b"the same for all" * 1000

    def keep(_: int) -> None:
        for number in range(FILES):
            together.wait(10)
            write_bytes(tmp_path / str(number), data)

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(keep, range(THREADS)))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        str(number): data for number in range(FILES)
    }
