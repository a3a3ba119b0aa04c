"""``python -m tests.chaos``: plays scenarios and prints the table scenario x invariant x count.

A broken scenario is named with its seed, and plays alone by ``--only NAME --seed N --scenarios 1``.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.chaos.defects import DEFECTS
from tests.chaos.invariants import NAMES
from tests.chaos.play import CATALOGUE, Play, Played, play_all, schedule


def main(arguments: Sequence[str] | None = None) -> int:
    """The command.

    Returns:
        0 where all held; 1 where an invariant was broken; 2 where a scenario that was asked for cannot be
        played on this machine; 130 after Ctrl-C or SIGTERM, with the table of what was played until then.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--only", action="append", choices=sorted(CATALOGUE), help="may be given repeatedly")
    parser.add_argument("--jobs", type=int, default=1, help="scenarios at a time")
    parser.add_argument("--keep", type=Path, help="keep logs and data of every scenario in this folder")
    parser.add_argument("--defects", action="store_true", help="show that every invariant can be broken")
    given = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if given.defects:
        plays = [Play(defect.scenario, given.seed, name) for name, defect in DEFECTS.items()]
    else:
        names = _playable(given.only or list(CATALOGUE))
        if given.only and set(names) != set(given.only):
            return 2
        plays = schedule(names, given.seed, given.scenarios)
    played: list[Played] = []
    under_way = play_all(plays, given.jobs, given.keep)
    interrupted = False
    try:
        for one in under_way:
            played.append(one)
            _tell(f"{len(played)}/{len(plays)}", one)
    except KeyboardInterrupt:
        interrupted = True
        print("interrupted: ending what is under way", file=sys.stderr)
    under_way.close()
    print(defects_table(played) if given.defects else table(played))
    if interrupted:
        return 130
    return 0 if all(_as_wanted(one) for one in played) else 1


def _interrupt(*_: object) -> None:
    """Once is enough: what is under way takes a while to end."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _playable(names: Sequence[str]) -> list[str]:
    """Those that this machine can play; says why the others are left out."""
    found = []
    for name in names:
        if reason := CATALOGUE[name].setup.why_not():
            print(f"left out: {name}, for this machine cannot play it: {reason}", file=sys.stderr)
        else:
            found.append(name)
    return found


def _as_wanted(one: Played) -> bool:
    if one.play.defect is None:
        return not one.broken
    return DEFECTS[one.play.defect].breaks in one.broken


def _tell(place: str, one: Played) -> None:
    verdict = f"BROKEN: {', '.join(one.broken)}" if one.broken else "held"
    print(f"{place} {one.play}: {verdict} in {one.seconds:.0f} s", file=sys.stderr)
    for what, (took, bound) in one.measured.items():
        print(f"    {what}: {took:.1f} s (bound {bound:g})", file=sys.stderr)
    for line in one.told:
        print(f"    {line}", file=sys.stderr)
    for invariant, lines in one.found.items():
        for line in lines:
            print(f"    {invariant}: {line}", file=sys.stderr)


def table(played: Iterable[Played]) -> str:
    """One row per disturbance: scenarios, those that held each invariant, the slowest measured recovery."""
    rows: dict[str, list[Played]] = defaultdict(list)
    for one in played:
        rows[one.play.name].append(one)
    width = max(map(len, rows), default=8)
    names = "  ".join(f"{name:>8}" for name in NAMES)
    lines = [f"{'scenario':{width}}  count  {names}   slowest"]
    for name, group in sorted(rows.items()):
        cells = "  ".join(f"{_cell(name, invariant, group):>8}" for invariant in NAMES)
        slowest = max((took for one in group for took, _ in one.measured.values()), default=None)
        took = "" if slowest is None else f"{slowest:6.1f} s"
        lines.append(f"{name:{width}}  {len(group):5}  {cells}  {took}")
    total = sum(map(len, rows.values()))
    held = sum(not one.broken for group in rows.values() for one in group)
    return "\n".join([*lines, f"{held} of {total} scenarios held"])


def _cell(name: str, invariant: str, group: Sequence[Played]) -> str:
    if invariant in CATALOGUE[name].excused:
        return "excused"
    held = sum(not one.found.get(invariant) for one in group)
    return f"{held}" if held == len(group) else f"{held}/{len(group)} !"


def defects_table(played: Iterable[Played]) -> str:
    """One row per defect: what it breaks, and which invariants named it."""
    lines = []
    for one in played:
        assert one.play.defect is not None
        defect = DEFECTS[one.play.defect]
        mark = "named" if defect.breaks in one.broken else "MISSED"
        also = [name for name in one.broken if name != defect.breaks]
        lines.append(
            f"{defect.breaks:9} {mark:7} {defect.what} ({defect.scenario})"
            + (f"; also {', '.join(also)}" if also else "")
        )
    return "\n".join(sorted(lines))


if __name__ == "__main__":
    sys.exit(main())
