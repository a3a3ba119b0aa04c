"""How long a scenario takes to build, and how large it is, beside the limit of 1 s.

    python -m benchmarks.scenario [--seeds 20]

Caveats: wall time of one process; the first build of a process also imports reportlab and Pillow, and is
shown apart.
"""

from __future__ import annotations

import statistics
import time

from benchmarks.command import arguments
from emulators.arena.scenario import build
from emulators.arena.scenario.themes import THEMES


def main() -> None:
    """Build scenarios of each theme and print what it took."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="scenarios of each theme")
    seeds = parser.parse_args().seeds
    started = time.perf_counter()
    build("hub", 0, 0)
    print(f"first build, imports included   {time.perf_counter() - started:6.3f} s   (limit 1 s)")
    for theme in THEMES:
        seconds, distinct, total = [], [], []
        for seed in range(1, seeds + 1):
            started = time.perf_counter()
            scenario = build(theme, seed, seed)
            seconds.append(time.perf_counter() - started)
            distinct.append(sum(map(len, scenario.blobs.values())))
            total.append(
                sum(len(scenario.blobs[sha]) for task in scenario.tasks for sha in task.files.values())
            )
        sizes = (
            f"{statistics.median(distinct) / 1e6:.1f} MB distinct, {statistics.median(total) / 1e6:.1f} MB"
        )
        print(f"{theme:<10} median {statistics.median(seconds):.3f} s, slowest {max(seconds):.3f} s; {sizes}")


if __name__ == "__main__":
    main()
