"""``python -m tests.chaos``: plays scenarios and prints the table scenario x invariant x count.

A broken scenario is named with its seed, and plays alone by ``--only NAME --seed N --scenarios 1``.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.chaos.invariants import NAMES
from tests.chaos.play import CATALOGUE, Played, play_all, schedule


def table(played: Iterable[Played]) -> str:
    """One row per disturbance: scenarios, those that held each invariant, the slowest measured recovery."""
    rows: dict[str, list[Played]] = defaultdict(list)
    for one in played:
        rows[one.name].append(one)
    width = max(map(len, rows), default=8)
    names = "  ".join(f"{name:>8}" for name in NAMES)
    lines = [f"{'scenario':{width}}  count  {names}   slowest"]
    for name, group in sorted(rows.items()):
        cells = "  ".join(f"{_cell(name, invariant, group):>8}" for invariant in NAMES)
        slowest = max((took for one in group for took, _ in one.measured.values()), default=None)
        took = "" if slowest is None else f"{slowest:6.1f} s"
        lines.append(f"{name:{width}}  {len(group):5}  {cells}  {took}")
    return "\n".join(lines)


def _cell(name: str, invariant: str, group: Sequence[Played]) -> str:
    if invariant in CATALOGUE[name].excused:
        return "excused"
    held = sum(not one.found.get(invariant) for one in group)
    return f"{held}" if held == len(group) else f"{held}/{len(group)} !"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Exit status 1 where an invariant was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--only", action="append", choices=sorted(CATALOGUE), help="may be given repeatedly")
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at a time")
    parser.add_argument("--keep", type=Path, help="keep logs and data of every scenario in this folder")
    given = parser.parse_args(arguments)
    pairs = schedule(given.only or list(CATALOGUE), given.seed, given.scenarios)
    played: list[Played] = []
    for one in play_all(pairs, given.jobs, given.keep):
        played.append(one)
        _tell(f"{len(played)}/{len(pairs)}", one)
    print(table(played))
    return 0 if all(one.passed for one in played) else 1


def _tell(place: str, one: Played) -> None:
    verdict = "held" if one.passed else "BROKEN"
    print(f"{place} {one.name} --seed {one.seed}: {verdict} in {one.seconds:.0f} s", file=sys.stderr)
    for what, (took, bound) in one.measured.items():
        print(f"    {what}: {took:.1f} s (bound {bound:g})", file=sys.stderr)
    for invariant, lines in one.found.items():
        for line in lines:
            print(f"    {invariant}: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
