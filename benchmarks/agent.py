"""What `agent` makes of right, wrong and obedient plans, and what its prompts cost beside a naive tool loop.

    python -m benchmarks.agent [--seeds 3]

It measures how plans are carried out, checked, cited and guarded, not wits: the stand-in model serves the
scenario's own plans. What is lost is told on stderr, task by task. The naive loop's tokens are computed, not
played: the operator files and the listing, then one call per step of the plan, each of which sends again all
that was said before. ``broken`` are tasks whose effects were not those that were called for.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from benchmarks.command import arguments
from emulators.arena.scenario import Scenario, build
from emulators.model.conduct import Conduct
from emulators.serve import ModelEmulator
from shared.documents.operator_files import operator_texts
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from shared.workspace.workspace import Workspaces
from tests.support.local_play import LocalPlay, Played
from workers.solvers.agent import Agent
from workers.testing import LocalParse

CONDUCTS = {
    "right": Conduct(),
    "20 % of first plans wrong": Conduct(wrong=0.2),
    "obedient": Conduct(obedient=True),
}
LETTERS_PER_TOKEN = 4
RESULT_TOKENS, ANSWER_TOKENS = 600, 60
"""Of one tool result and one answer in a naive loop."""


@dataclass
class Row:
    """The tasks of one conduct and theme."""

    played: list[Played] = field(default_factory=list)
    naive: list[float] = field(default_factory=list)

    def text(self) -> str:
        calls = [call for task in self.played for call in task.calls]
        tasks = len(self.played)
        sent = sum(call["tokens_in"] for call in calls) / tasks
        cached = sum(call["tokens_cached"] for call in calls) / tasks
        usd = sum(call["cost_usd"] for call in calls) / tasks * 30
        accuracy = mean(task.score for task in self.played)
        broken = sum(not task.grade.constraints_ok for task in self.played)
        return (
            f"{accuracy:.4f} | {len(calls) / tasks:.2f} | {sent:.0f} | {cached:.0f} | "
            f"{mean(self.naive):.0f} | {usd:.4f} | {broken}"
        )


def naive_tokens(scenario: Scenario) -> list[float]:
    """Prompt tokens of each task in a loop that reads the rules and calls one tool per step."""
    found = []
    for task in scenario.tasks:
        rules = operator_texts(task.files, lambda path, task=task: scenario.blobs[task.files[path]])  # type: ignore[misc]
        start = (sum(map(len, rules.values())) + sum(map(len, task.files))) / LETTERS_PER_TOKEN
        steps = len(task.reference.steps) + 1
        said = RESULT_TOKENS + ANSWER_TOKENS
        found.append(sum(start + said * number for number in range(steps)))
    return found


def main() -> None:
    """Print the table."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="scenarios of each theme, for each conduct")
    seeds = parser.parse_args().seeds
    print("| conduct, theme | accuracy | calls/task | tokens/task | cached | naive loop | usd/run | broken |")
    print("|---|---|---|---|---|---|---|---|")
    settings = Settings.load(_env_file=None)
    with tempfile.TemporaryDirectory() as folder, RedisServer.start(Path(folder)) as server:
        for name, conduct in CONDUCTS.items():
            for theme in ("hub", "harbour"):
                row = Row()
                for seed in range(seeds):
                    scenario = build(theme, seed, 7 * seed + 1)
                    key = f"{theme}:{seed}:{scenario.variation}"
                    with (
                        ModelEmulator.start(scenarios=(key,), conduct=conduct) as model,
                        Pool.connect(settings.model_copy(update={"redis_url": server.url})) as pool,
                        closing(
                            LocalPlay(
                                pool,
                                scenario,
                                Agent(),
                                model.url,
                                Workspaces(LocalParse(), keep=40),
                                run_id=f"run_{conduct.obedient}_{conduct.wrong}_{theme}_{seed}",
                            )
                        ) as player,
                    ):
                        for task in player.all():
                            row.played.append(task)
                            if task.score < 1:
                                told = (
                                    f"{name}, {key}, {task.task.family}: {task.grade.feedback} {task.refused}"
                                )
                                print(told, task.task.instruction, file=sys.stderr, flush=True)
                    row.naive += naive_tokens(scenario)
                print(f"| {name}, {theme} | {row.text()} |", flush=True)


if __name__ == "__main__":
    main()
