"""What a person sees of runs while they are played."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from producer.watch import Progress, Snapshot
from shared.models import Limits, RunRequest, RunStatus, TaskStatus
from shared.pool.ledger import RunState
from tests.support.ledger import a_run


class Screen:
    """Progress on a console of a given width, and a clock that tests move by hand."""

    def __init__(self, width: int = 100, terminal: bool = False) -> None:
        self.now = 0.0
        self._out = io.StringIO()
        self.console = Console(file=self._out, width=width, force_terminal=terminal, color_system=None)
        self.progress = Progress(self.console, Limits(rate=20.0, burst=100), lambda: self.now)

    @property
    def text(self) -> str:
        return self._out.getvalue()


def state(requests: int = 0, **counts: int) -> RunState:
    run = a_run(tasks=30)
    return RunState(
        ref=run.ref,
        run=run,
        request=RunRequest(),
        request_id="req-1",
        status=RunStatus.SOLVING,
        opened_at=0.0,
        deadline=61.0,
        now=0.0,
        requests=requests,
        counts={TaskStatus(name): count for name, count in counts.items()},
        submitted=0,
        failures={},
    )


def snapshot(*runs: RunState, **changes: float) -> Snapshot:
    """Of runs, with figures of which the run itself has nothing to say."""
    bare = Snapshot(
        runs, over=0, total=1, tasks=30, solved=0, gave_up=0, waiting=0, cost_usd=0.0, seconds_left=61.0
    )
    return replace(bare, **changes)  # type: ignore[arg-type]


def test_the_line_has_tasks_rate_cost_and_time() -> None:
    screen = Screen()
    screen.progress.line(snapshot(state(requests=10)))
    screen.now = 2.0
    line = screen.progress.line(
        snapshot(state(requests=30), solved=12, waiting=3, gave_up=1, cost_usd=0.0132)
    )
    assert line == "solved 12/30 · 1 gave up · 3 waiting · 10.0 of 20 requests/s · $0.0132 · 1:01 left"


def test_what_a_run_asked_for_before_it_was_looked_at_is_no_rate() -> None:
    screen = Screen()
    screen.progress.line(snapshot())
    screen.now = 1.0
    assert " 0.0 of 20 requests/s" in screen.progress.line(snapshot(state(requests=500)))


def test_a_sweep_says_how_long_it_will_take_by_the_runs_that_ended_meanwhile() -> None:
    screen = Screen()
    assert "to go" not in screen.progress.line(snapshot(total=5, over=1))
    screen.now = 60.0
    assert "runs 3/5 · solved 90/150" in screen.progress.line(snapshot(total=5, over=3, tasks=150, solved=90))
    assert screen.progress.line(snapshot(total=5, over=3)).endswith("about 1:00 to go")


def test_a_log_gets_a_line_when_runs_open_then_every_few_seconds_and_one_at_the_end() -> None:
    screen = Screen()
    with screen.progress as progress:
        progress.show(snapshot(tasks=0))
        progress.show(snapshot(solved=0))
        for second in range(1, 8):
            screen.now = float(second)
            progress.show(snapshot(solved=second), "the arena is away" if second > 3 else None)
    solved = [line.split(" · ")[0] for line in screen.text.splitlines()]
    assert solved == ["opening", "solved 0/30", "the arena is away", "solved 5/30", "solved 7/30"]


@pytest.mark.parametrize("width", [40, 80])
def test_no_line_of_the_live_view_is_wider_than_the_terminal(width: int) -> None:
    screen = Screen(width, terminal=True)
    with screen.progress as progress:
        progress.show(snapshot(state(requests=10, solved=12, queued=18), solved=12))
    drawn = screen.text.split("\x1b[?25h")[0].splitlines()
    assert any("arena:run_1" in line and "12/30" in line for line in drawn)
    assert any("solved 12/30" in line for line in drawn)
    assert all(len(line) <= width + len("\x1b[?25l") for line in drawn)
