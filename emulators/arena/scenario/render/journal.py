"""Log files: one JSON event per line, written by hand because thousands are."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from emulators.arena.scenario.reckon import iso
from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.world import Event

NOISE = "routine:"
"""How the neutral name of a routine action begins; the theme's own name follows."""

_INJECTED = 6


@dataclass(frozen=True)
class Journal:
    """A written log file and the line, from 1, of each event that matters."""

    data: bytes
    lines: dict[Event, int]


class JournalWriter:
    """Writes log files in one look: order of the fields, form of the time, spacing.

    Args:
        rng: of the variation.
        notes: texts of which some lines carry one in a further field.
    """

    def __init__(self, theme: Theme, rng: random.Random, notes: Sequence[str]) -> None:
        self._theme = theme
        self._notes = notes
        self._style = rng.choice(("Z", "+00:00", ".000Z"))
        order = list(theme.fields)
        if rng.random() < 0.6:
            rest = order[1:]
            rng.shuffle(rest)
            order = [order[0], *rest]
        colon, comma = rng.choice(((":", ","), (": ", ", ")))
        self._template = "{" + comma.join(
            f'"{theme.fields[key]}"{colon}' + ("%d" if key == "attempt" else '"%s"') for key in order
        )
        self._end = f'{comma}"ms"{colon}%d}}'
        self._ordered = itemgetter(*(Event._fields.index(key) for key in order))

    def write(self, events: Iterable[Event], *, local: bool, rng: random.Random) -> Journal:
        """The events, which are in order of time, as a file; ``local`` leaves the zone out."""
        hours = self._theme.offset_hours if local else 0
        style = "" if local else self._style
        lines: list[str] = []
        places: dict[Event, int] = {}
        for event in events:
            if not event.action.startswith(NOISE):
                places[event] = len(lines) + 1
            values = (
                iso(event.when, hours=hours, style=style),
                event.agent,
                self._theme.actions.get(event.action) or event.action.removeprefix(NOISE),
                event.target,
                self._theme.statuses[event.status],
                event.trace,
                event.attempt,
                event.token,
            )
            line = self._template % self._ordered(values)
            lines.append(line + self._end % (rng.random() * 900))
        decisive = set(places.values())
        for number in rng.sample(range(1, len(lines) + 1), _INJECTED):
            # Into routine events only: what counts stays as it is.
            if number not in decisive:
                note = json.dumps(rng.choice(self._notes))
                lines[number - 1] = f'{lines[number - 1][:-1]},"note":{note}}}'
        return Journal(("\n".join(lines) + "\n").encode(), places)


def routine_events(
    theme: Theme, rng: random.Random, agents: Sequence[str], first: int, length: int, count: int
) -> list[Event]:
    """Noise: ``count`` events of routine actions, which no task asks about, in a stretch of time."""
    events = []
    for _ in range(count):
        action, target = rng.choice(theme.routine)
        trace = theme.ids.trace.format(hex=f"{rng.getrandbits(36):09x}")
        when = first + int(rng.random() * length)
        events.append(Event(when, rng.choice(agents), NOISE + action, target, "ok", trace, 1, "-"))
    return events
