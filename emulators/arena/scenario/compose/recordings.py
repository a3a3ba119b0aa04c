"""What machines wrote down: logs and screenshots."""

from __future__ import annotations

import random
from collections.abc import Callable

from emulators.arena.scenario import documents
from emulators.arena.scenario.reckon import day_text
from emulators.arena.scenario.render.journal import JournalWriter, routine_events
from emulators.arena.scenario.render.picture import write_picture
from emulators.arena.scenario.view import View
from emulators.arena.scenario.world import DAY, DAYS, HOUR, Event

_NOISE_PER_DAY = 860


def write_screens(view: View, rng: random.Random) -> None:
    """Two screenshots: queue lengths, and versions."""
    theme, world, look = view.theme, view.world, view.look
    dark = rng.random() < 0.5
    shown = (
        ("queue", list(world.queues.items()), theme.words["queue"]),
        ("board", list(world.board.items()), theme.words["board"]),
    )
    for name, entries, title in shown:
        rng.shuffle(entries)
        lines = [f"{theme.words['unit'].upper():<12}{'NOW':>8}"]
        lines += [f"{agent:<12}{value!s:>8}" for agent, value in entries]
        caption = f"{title} - {day_text(world.start, 6)}"
        form = look.formats[name]
        data = write_picture(caption, lines, "jpg" if form == "jpg" else "png", dark=dark)
        view.put(name, data)
        view.image_texts[name] = "\n".join([caption, *lines])


def write_logs(view: View, rng: Callable[[str], random.Random]) -> None:
    """Daily files, and the archive before them in local time; routine noise in both."""
    theme, world, look = view.theme, view.world, view.look
    writer = JournalWriter(theme, rng("journal"), documents.INJECTIONS)
    noise = rng("noise")
    agents = [agent.id for agent in world.agents if not agent.retired]
    by_day: list[list[Event]] = [[] for _ in range(DAYS)]
    for event in world.events:
        by_day[(event.when - world.start) // DAY].append(event)
    for day, events in enumerate(by_day):
        first = world.start + day * DAY
        routine = routine_events(theme, noise, agents, first, DAY, _NOISE_PER_DAY)
        merged = sorted((*events, *routine), key=_by_time)
        view.days.append(
            (f"{look.log}/{day_text(world.start, day)}.jsonl", writer.write(merged, local=False, rng=noise))
        )
    first = world.start - DAY - theme.offset_hours * HOUR
    routine = routine_events(theme, noise, agents, first, world.start - first, _NOISE_PER_DAY // 2)
    merged = sorted((*world.archived, *routine), key=_by_time)
    view.archive = writer.write(merged, local=True, rng=noise)


def _by_time(event: Event) -> int:
    return event.when
