"""All of it at once."""

from __future__ import annotations

from shared.models import Kind
from tests.chaos.disturbance import disturbance
from tests.chaos.faults import ERRATIC
from tests.chaos.setup import Setup
from tests.chaos.stage import Stage, kill


@disturbance(
    Setup(kind=Kind.FINAL, tasks=30, seconds=1.0, deadline=90.0, machines=2, rules=ERRATIC, spare=1),
    seconds=120,
)
def final_with_everything(stage: Stage) -> None:
    """A final run of 90 s on an erratic platform: processes are killed, Redis is killed and comes back."""
    stage.open()
    redis_falls = stage.chance.randrange(8)
    for number in range(8):
        stage.pause(1, 3)
        everybody = stage.nodes()
        kill([stage.chance.choice(everybody)] if everybody else [])
        if number == redis_falls:
            stage.kill_redis()
            stage.pause(0.2, 3)
            stage.restart_redis()
