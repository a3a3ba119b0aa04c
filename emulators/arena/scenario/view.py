"""A world rendered in one look: the files that tasks share, and where in them each fact stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulators.arena.scenario.looks import Look
from emulators.arena.scenario.render.journal import Journal
from emulators.arena.scenario.render.paper import Paper
from emulators.arena.scenario.render.prose import line_of, write_lines
from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.world import Event, World
from shared.models import Source


@dataclass
class View:
    """The files of a scenario, and citations into them.

    ``files`` are the documents by neutral name, as path and bytes; ``texts``, ``papers`` and ``rows`` (by
    document, sheet and key) say where in them things stand. ``days`` are the daily logs, ``archive`` the
    rotated one; ``inbox``, ``asides`` and ``stale`` are further files. ``image_texts`` says what an image
    shows, by neutral name.
    """

    theme: Theme
    world: World
    look: Look
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    papers: dict[str, Paper] = field(default_factory=dict)
    rows: dict[tuple[str, str, str], int] = field(default_factory=dict)
    days: list[tuple[str, Journal]] = field(default_factory=list)
    archive: Journal | None = None
    inbox: list[tuple[str, bytes]] = field(default_factory=list)
    asides: list[tuple[str, bytes]] = field(default_factory=list)
    stale: list[tuple[str, bytes]] = field(default_factory=list)
    image_texts: dict[str, str] = field(default_factory=dict)

    def record(self, name: str, record: str) -> Source:
        """A record of a register."""
        return Source(path=self.look.paths[name], record=record)

    def rule(self, rule: str) -> Source:
        """The line of a rule in /AGENTS.md."""
        return Source(path="/AGENTS.md", line=line_of(self.texts["agents_md"], f"**{rule}**"))

    def page(self, name: str, page: int) -> Source:
        """A page of a pdf."""
        return Source(path=self.look.paths[name], page=page)

    def paragraph(self, name: str, text: str) -> Source:
        """The paragraph of a paper that contains ``text``."""
        return Source(path=self.look.paths[name], paragraph=self.papers[name].number(text))

    def row(self, name: str, sheet: str, key: str) -> Source:
        """The row of a sheet that is about ``key``."""
        return Source(path=self.look.paths[name], sheet=sheet, row=self.rows[name, sheet, key])

    def image(self, name: str) -> Source:
        """An image."""
        return Source(path=self.look.paths[name])

    def message(self, message_id: str) -> Source:
        """A message of the export: by line where the export is text, else by record."""
        if self.look.formats["messages"] == "md":
            return Source(path=self.look.paths["messages"], line=line_of(self.texts["messages"], message_id))
        return self.record("messages", message_id)

    def event(self, event: Event) -> tuple[Source, ...]:
        """Where an event stands: in its daily file, in the archive, or in both."""
        places = [
            Source(path=path, line=journal.lines[event])
            for path, journal in self.days
            if event in journal.lines
        ]
        if self.archive is not None and event in self.archive.lines:
            places.append(Source(path=self.look.paths["archive"], line=self.archive.lines[event]))
        return tuple(places)

    def put(self, name: str, data: bytes) -> None:
        """Add a document's file."""
        self.files[name] = (self.look.paths[name], data)

    def put_text(self, name: str, lines: list[str]) -> None:
        """Add a text file whose lines are cited."""
        self.texts[name] = lines
        self.files[name] = (self.look.paths.get(name, "/AGENTS.md"), write_lines(lines))
