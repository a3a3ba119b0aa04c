"""The counting rules of a theme, applied to the world's events.

Operator files say these rules in words (``Theme.operator``, counting); here they are code, for expected
answers. A *call* is what counts as one: the attempts of a trace, or every attempt by itself
(``Rules.retries_once``); it is a tuple of events in order of attempt, happened at its first and ended as its
last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.world import DAY, HOUR, Event, World

Call = tuple[Event, ...]
Window = tuple[int, int]


def day_window(theme: Theme, start: int, day: int, *, local: bool | None = None) -> Window:
    """First second of day number ``day`` and of the next one; local or UTC as the theme counts days."""
    local = theme.rules.local_days if local is None else local
    first = start + day * DAY - (theme.offset_hours * HOUR if local else 0)
    return first, first + DAY


def files_of(world: World, window: Window) -> tuple[int, ...]:
    """Numbers of the daily files (UTC) that hold a window's events, and one more for late attempts."""
    first, last = (window[0] - world.start) // DAY, (window[1] + 600 - world.start) // DAY
    return tuple(day for day in range(first, last + 1) if 0 <= day < 7)


def calls(
    theme: Theme, events: Iterable[Event], agents: Collection[str], action: str, window: Window
) -> list[Call]:
    """Calls of those agents that happened inside the window, in order of time."""
    groups: dict[tuple[object, ...], list[Event]] = {}
    for event in events:
        if event.action == action and event.agent in agents:
            key = (event.trace,) if theme.rules.retries_once else (event.trace, event.attempt)
            if event not in groups.setdefault(key, []):
                groups[key].append(event)
    found = [tuple(sorted(group, key=lambda event: event.attempt)) for group in groups.values()]
    return sorted(call for call in found if window[0] <= call[0].when < window[1])


def completed(
    theme: Theme, events: Iterable[Event], agents: Collection[str], action: str, window: Window
) -> list[Call]:
    """The calls among them that ended well (rule N3)."""
    return [call for call in calls(theme, events, agents, action, window) if call[-1].status == "ok"]


def is_contact(theme: Theme, event: Event, domain: str) -> bool:
    """Whether the event is a contact with that domain (rule N7)."""
    if event.action != "contact" or (event.status != "ok" and not theme.rules.blocked_counts):
        return False
    return event.target == domain or (theme.rules.subdomains_count and event.target.endswith(f".{domain}"))


def first_contacts(theme: Theme, world: World, domain: str) -> dict[str, Event]:
    """For each agent that counts (rule N1) its first contact with the domain."""
    first: dict[str, Event] = {}
    for event in world.events:
        if is_contact(theme, event, domain) and event.agent in world.counted:
            first.setdefault(event.agent, event)
    return first


def failure_rate(theme: Theme, found: list[Call]) -> float:
    """Failed calls over all, in percent, rounded as the theme does (rule N5); exact integer arithmetic."""
    failed = sum(call[-1].status == "failed" for call in found)
    scale = 10**theme.rules.rate_digits
    numerator = 100 * scale * failed
    scaled = (
        numerator // len(found) if theme.rules.rate_down else (2 * numerator + len(found)) // (2 * len(found))
    )
    return scaled / scale if theme.rules.rate_digits else float(scaled)


def malicious(world: World) -> tuple[str, ...]:
    """Domains that the advisory lists and has not withdrawn (rule D10)."""
    return tuple(domain for domain in world.advisory.listed if domain != world.advisory.withdrawn)


def iso(when: int, *, hours: int = 0, style: str = "Z") -> str:
    """A moment as ISO text, shifted by ``hours``; ``style`` is what follows the seconds."""
    return datetime.fromtimestamp(when + hours * HOUR, UTC).isoformat()[:19] + style


def day_text(start: int, day: int) -> str:
    """The date of day number ``day``."""
    return f"{datetime.fromtimestamp(start + day * DAY, UTC):%Y-%m-%d}"
