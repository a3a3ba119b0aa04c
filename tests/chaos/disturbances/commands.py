"""The command dies: `run`, `resume`, `final`, at any moment."""

from __future__ import annotations

from shared.models import Kind
from tests.chaos.disturbance import disturbance
from tests.chaos.faults import hang
from tests.chaos.setup import Setup
from tests.chaos.stage import Stage

_FINAL = (
    "final", "--solver", "steady", "--confirm", "Team 1", "--accept", "rehearsal", "--accept", "working tree",
)  # fmt: skip


@disturbance(Setup(tasks=12), quick=True)
def command_killed(stage: Stage) -> None:
    """kill -9 of `scrimmage run`: the workers need nobody."""
    command = stage.command("run", "--solver", "steady")
    stage.until_known()
    stage.pause(0, 2)
    command.kill()


@disturbance(Setup(tasks=12, rules=(hang("POST /runs", 1, 3, "after"),)), quick=True)
def command_killed_opening(stage: Stage) -> None:
    """kill -9 of `scrimmage run` before it hears that its run is open; `resume` finds it, and is killed."""
    command = stage.command("run", "--solver", "steady")
    stage.until_fault()
    stage.pause(0, 0.3)
    command.kill()
    resumed = stage.command("resume")
    stage.until_known()
    resumed.kill()
    assert len(stage.app.arena.runs.all()) == 1


@disturbance(
    Setup(
        kind=Kind.FINAL,
        tasks=12,
        seconds=1.0,
        threads=2,
        deadline=90,
        rules=(hang("POST /runs", 1, 3, "after"),),
    )
)
def final_command_killed(stage: Stage) -> None:
    """kill -9 of `scrimmage final` while it opens, then twice while it follows; one run is played, once."""
    command = stage.command(*_FINAL)
    stage.until_fault()
    stage.billed_before = stage.billed()
    stage.pause(0, 0.5)
    command.kill()
    for _ in range(2):
        command = stage.command(*_FINAL)
        stage.until_known()
        stage.pause(0, 2)
        command.kill()
    assert len(stage.app.arena.runs.all()) == 1
