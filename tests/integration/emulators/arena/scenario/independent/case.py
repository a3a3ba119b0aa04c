"""One task for the independent solver: its instruction, and what can be read out of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.models import Effect, Source
from tests.integration.emulators.arena.scenario.independent.rulebook import (
    Event,
    Rulebook,
    get,
)


@dataclass(frozen=True)
class Found:
    """What the solver makes of a task."""

    outcome: str = "OK"
    answer: Any = None
    sources: Sequence[Source] = ()
    effects: Sequence[Effect] = field(default_factory=tuple)


class Case:
    """One task: its instruction, and what can be read out of it."""

    def __init__(self, instruction: str, files: Mapping[str, bytes]) -> None:
        self.text = instruction
        self.book = Rulebook(files)
        self.files = files

    @property
    def agents(self) -> list[str]:
        """Ids of agents in the instruction, in order."""
        known = {row["id"] for row in self.book.records("agents")}
        return [word for word in re.findall(r"[A-Za-z]+-\d+", self.text) if word in known]

    @property
    def team(self) -> str:
        """The team in the instruction."""
        teams = {get(row, "team") for row in self.book.records("agents")}
        return next(team for team in teams if re.search(rf"\b{team}\b", self.text))

    @property
    def dates(self) -> list[str]:
        return re.findall(r"\d{4}-\d{2}-\d{2}", self.text)

    @property
    def incident(self) -> dict[str, Any]:
        """The incident in the instruction."""
        rows = self.book.records("incidents")
        return next(row for row in rows if row["id"] in self.text)

    @property
    def keys(self) -> list[str]:
        """Keys of the object asked for."""
        return re.findall(r'"([^"]+)"', self.text)

    def line(self, event: Event) -> Source:
        path, number = event.places[0]
        return Source(path=path, line=number)

    def ends(self, calls: Sequence[Sequence[Event]]) -> list[Source]:
        picked = [calls[0], calls[-1]] if len(calls) > 1 else [calls[0]]
        return [self.line(call[0]) for call in picked]

    def record(self, paper: str, *records: str) -> list[Source]:
        return [Source(path=self.book.at[paper], record=record) for record in records]

    def page(self, paper: str, *pages: int) -> list[Source]:
        return [Source(path=self.book.at[paper], page=page) for page in pages]
