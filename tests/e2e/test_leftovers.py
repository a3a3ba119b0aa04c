"""A pool that is killed leaves no process behind."""

from __future__ import annotations

from pathlib import Path

import psutil

from tests.support.command import Terminal
from tests.support.playing import wait_for


def test_a_killed_pool_takes_redis_workers_and_flower_with_it(tmp_path: Path) -> None:
    up = Terminal(tmp_path, SCRIMMAGE_PROCESSES="1").start("up", "--flower")
    up.wait_for_text("ready")
    family = psutil.Process(up.process.pid).children(recursive=True)
    for part in ("-server", "workers.supervise", "flower"):
        assert any(part in _command(member) for member in family), part
    up.kill()
    wait_for(
        lambda: not any(member.is_running() and _command(member) for member in family), 30, "all are gone"
    )


def _command(process: psutil.Process) -> str:
    """The command line of a process; empty for one that has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
