"""``python -m tests.chaos.scores``: the same seeds without faults and with, and both scores of each.

`scrimmage sweep` plays them with the solver `agent` and the stand-in model, which serves right plans: a
solution that was lost, spoilt or submitted twice shows in the score or in the books.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulators.serve import ArenaEmulator, ModelEmulator
from tests.chaos.faults import ERRATIC
from tests.chaos.watching import TEAM
from tests.support.command import Terminal
from tests.support.played_arena import Rule

TASKS = 30
SECONDS = 1800.0
"""For one sweep."""


class Swept:
    """A sweep that was played: its rows by seed, and what the platform saw."""

    def __init__(self, folder: Path, seeds: Sequence[int], rules: Sequence[Rule], in_flight: int) -> None:
        folder.mkdir()
        faults = folder / "faults.json"
        faults.write_text(json.dumps({"seed": 1, "rules": list(rules)}))
        with ArenaEmulator.start(faults=faults) as arena, ModelEmulator.start(arena_url=arena.url) as model:
            terminal = Terminal(
                folder,
                SCRIMMAGE_ARENA_URL=arena.url,
                SCRIMMAGE_ARENA_KEY=arena.key,
                SCRIMMAGE_MODEL_URL=model.url,
                SCRIMMAGE_MODEL=model.model,
                SCRIMMAGE_MODEL_KEY=model.key,
            )
            words = ("--seeds", ",".join(map(str, seeds)), "--in-flight", str(in_flight), "--json")
            began = time.monotonic()
            ended = terminal.run("sweep", "--solver", "agent", *words, seconds=SECONDS)
            self.seconds = time.monotonic() - began
            if ended.code not in {0, 1}:
                raise SystemExit(f"the sweep ended with {ended.code}: {ended.err}")
            self.rows: dict[int, Any] = {row["seed"]: row for row in ended.json["runs"]}
            self.books: dict[str, Any] = arena.books()["accounts"][TEAM]

    def wrong(self, seed: int) -> list[str]:
        """What is wrong with the run of a seed, whatever its score."""
        row = self.rows.get(seed)
        if row is None:
            return ["there is no such run"]
        found = [] if row["status"] == "finished" else [f"is {row['status']}"]
        prefix = f"{row['run_id']}/"
        submits = [n for name, n in self.books.get("submits", {}).items() if name.startswith(prefix)]
        if submits != [1] * TASKS:
            found.append(f"{sum(submits)} submissions of {len(submits)} tasks")
        for what in ("duplicate_submits", "duplicate_effects"):
            again = [name for name in self.books.get(what, {}) if name.startswith(prefix)]
            found += [f"{what}: {', '.join(again)}"] if again else []
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Exit status 1 where a run differs from its twin, or is not whole."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.scores", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--in-flight", type=int, default=4)
    given = parser.parse_args(arguments)
    seeds = range(1, given.runs + 1)
    with tempfile.TemporaryDirectory(prefix="scores-", ignore_cleanup_errors=True) as temporary:
        calm = Swept(Path(temporary, "calm"), seeds, (), given.in_flight)
        erratic = Swept(Path(temporary, "erratic"), seeds, ERRATIC, given.in_flight)
    same = 0
    print(f"{'seed':>4}  {'calm':>8}  {'erratic':>8}")
    for seed in seeds:
        scores = [swept.rows.get(seed, {}).get("accuracy") for swept in (calm, erratic)]
        wrong = calm.wrong(seed) + erratic.wrong(seed)
        wrong += ["the scores differ"] if scores[0] != scores[1] or scores[0] is None else []
        same += not wrong
        print(f"{seed:>4}  {scores[0]!s:>8}  {scores[1]!s:>8}  {'; '.join(wrong)}")
    struck = ", ".join(f"{count} {fault}" for fault, count in erratic.books.get("faults", {}).items())
    print(f"{same} of {len(seeds)} runs with faults were whole and scored as without; faults: {struck}")
    print(f"requests {calm.books['requests']} and {erratic.books['requests']}, of them over the limit "
          f"{calm.books['over_limit']} and {erratic.books['over_limit']}; "
          f"{calm.seconds:.0f} s and {erratic.seconds:.0f} s")  # fmt: skip
    return 0 if same == len(seeds) else 1


if __name__ == "__main__":
    sys.exit(main())
