"""Platform and model misbehave."""

from __future__ import annotations

from shared.models import Kind
from tests.chaos.disturbance import disturbance
from tests.chaos.faults import ERRATIC, SUBMIT, erratic
from tests.chaos.setup import Setup
from tests.chaos.stage import Stage


@disturbance(Setup(tasks=12, seconds=0.2, rules=ERRATIC), seconds=90, quick=True)
def erratic_platform(stage: Stage) -> None:
    """Errors, lost answers, hangs, cut-off bodies and 429s on every endpoint."""
    stage.open()


@disturbance(
    Setup(
        kind=Kind.FINAL,
        tasks=12,
        seconds=0.5,
        deadline=40.0,
        rules=({"endpoint": SUBMIT, "nth": 5, "fault": "deadline", "seconds": 1},),
    ),
    excused=("all", "score", "sealed"),
)
def deadline_moved(stage: Stage) -> None:
    """The platform ends a final run half a minute early, without a word. What was submitted counts."""
    stage.open()


@disturbance(Setup(tasks=12, seconds=0.2), seconds=60)
def model_overloaded(stage: Stage) -> None:
    """The model's endpoint can serve nobody for some seconds."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    stage.pause(0, 1)
    stage.take_model_down(stage.chance.uniform(3, 8))


@disturbance(Setup(tasks=12, solver="agent", threads=2), seconds=120)
def model_down_for_a_minute(stage: Stage) -> None:
    """The same for a minute, while the solver `agent` plays one of the emulator's own scenarios."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    stage.pause(0, 2)
    stage.take_model_down(60)


@disturbance(
    Setup(tasks=12, solver="agent", model_rules=erratic("POST /chat/completions", times=4)), seconds=90
)
def erratic_model(stage: Stage) -> None:
    """Errors, lost answers, hangs, cut-off bodies and 429s of the model, while `agent` plays."""
    stage.open()
