"""What one variation chooses: file names, formats, time display. It never touches what is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from emulators.arena.scenario.reckon import iso
from emulators.arena.scenario.streams import stream
from emulators.arena.scenario.theme import Theme

_FORMATS: Mapping[str, tuple[str, ...]] = {
    "definitions": ("md", "md", "txt"),
    "counting": ("md", "md", "txt"),
    "procedures": ("md", "md", "txt"),
    "agents": ("csv", "json"),
    "tokens": ("csv", "json"),
    "delegations": ("csv", "json"),
    "people": ("csv", "json"),
    "teams": ("csv", "json"),
    "incidents": ("csv", "json"),
    "transfers": ("xlsx", "ods"),
    "budget": ("ods", "xlsx"),
    "advisory": ("pdf",),
    "circular": ("pdf",),
    "handover": ("docx", "odt"),
    "weekly": ("odt", "docx"),
    "messages": ("json", "csv", "md"),
    "press": ("md", "txt"),
    "selfreports": ("md", "json"),
    "queue": ("png", "jpg"),
    "board": ("png", "jpg"),
    "containment": ("json",),
    "archive": ("jsonl",),
}
_UNLIKE = (("transfers", "budget"), ("handover", "weekly"), ("queue", "board"))
"""Pairs of documents that differ in format, so that every scenario has every format."""


@dataclass(frozen=True)
class Look:
    """The choices of one variation.

    ``paths`` and ``formats`` go by the neutral name of a document; ``log`` and ``inbox`` are folders, as is
    ``stale``. ``hours`` and ``zone`` say how registers and messages show moments: in UTC or local time.
    """

    paths: Mapping[str, str]
    formats: Mapping[str, str]
    log: str
    inbox: str
    stale: str
    hours: int
    zone: str

    def moment(self, when: int) -> str:
        """A moment as registers and messages show it."""
        return iso(when, hours=self.hours, style=self.zone)


def choose_look(theme: Theme, seed: int, variation: int) -> Look:
    """The look of a variation. Folders are chosen together, so that names of one place stay plausible."""
    rng = stream(theme.name, seed, variation, "look")
    formats = {name: rng.choice(forms) for name, forms in _FORMATS.items()}
    for one, other in _UNLIKE:
        formats[other] = next(form for form in _FORMATS[other] if form != formats[one])
    paths = {name: f"{rng.choice(theme.paths[name])}.{form}" for name, form in formats.items()}
    local = rng.random() < 0.5
    return Look(
        paths=paths,
        formats=formats,
        log=rng.choice(theme.paths["log"]),
        inbox=rng.choice(theme.paths["inbox"]),
        stale=rng.choice(theme.paths["stale"]),
        hours=theme.offset_hours if local else 0,
        zone=_offset(theme) if local else rng.choice(("Z", "+00:00")),
    )


def _offset(theme: Theme) -> str:
    return f"{theme.offset_hours:+03d}:00"
