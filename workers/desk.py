"""What the guard and `baseline` read out of a workspace: the operator's rules, and the registers.

Nothing here knows a scenario: paths, columns, names of actions and states all come from ``/AGENTS.md``, the
files that it names, and the data themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from shared.documents.document import Document, Table, shown
from shared.documents.operator_files import operator_texts
from shared.documents.paths import canonical, extension, within
from shared.models import Source
from shared.workspace.workspace import Workspace

ADDRESS = re.compile(r"[\w.+-]+@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)")
"""A mail address; group 1 is its domain."""

DOMAIN = re.compile(r"(?<![\w@.-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?![\w-])", re.IGNORECASE)
"""A domain that stands by itself, in no mail address."""

_RULE = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(.*)")
_TRUE = {"yes", "true", "1", "y"}
_OLD = re.compile(r"\b(?:old|superseded|copies|nothing about)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Rule:
    """One item of an operator file, and the line on which it begins."""

    text: str
    source: Source

    def says(self, *patterns: str) -> bool:
        """True where each pattern (without case) is found in it."""
        return all(re.search(pattern, self.text, re.IGNORECASE) for pattern in patterns)

    @property
    def quoted(self) -> list[str]:
        """What stands in it between backticks."""
        return re.findall(r"`([^`]+)`", self.text)


@dataclass(frozen=True)
class Row:
    """A row of a register: its cells as text, by column, and how it is cited."""

    cells: dict[str, str]
    source: Source

    @property
    def id(self) -> str:
        """The first cell: registers are cited by it."""
        return next(iter(self.cells.values()), "")

    def true(self, column: str) -> bool:
        """True where the cell says yes, in one of the ways in which registers do."""
        return self.cells.get(column, "").lower() in _TRUE


class Desk:
    """The readings of one workspace, each made when first asked for."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @cached_property
    def operator_paths(self) -> list[str]:
        """``/AGENTS.md`` and the text files of rules that it names."""
        return [*operator_texts(self.workspace.paths(), self.workspace.bytes)]

    @cached_property
    def rules(self) -> list[Rule]:
        """Every item of the operator files, with its continuation lines."""
        found: list[Rule] = []
        for path in self.operator_paths:
            open_item = False
            for block in self.workspace.document(path).blocks:
                if item := _RULE.match(block.text):
                    found.append(Rule(item[1], block.locator.source(path)))
                elif open_item and block.text.startswith("  "):
                    found[-1] = Rule(f"{found[-1].text} {block.text.strip()}", found[-1].source)
                open_item = bool(item) or (open_item and block.text.startswith("  "))
        return found

    def rule(self, *patterns: str) -> Rule | None:
        """The first rule that says all of this."""
        return next((rule for rule in self.rules if rule.says(*patterns)), None)

    @cached_property
    def registers(self) -> list[list[Row]]:
        """Tables of records with ids, from files that the operator does not call old."""
        old = [
            canonical(quoted)
            for rule in self.rules
            if rule.says(_OLD.pattern)
            for quoted in rule.quoted
            if quoted.startswith("/")
        ]
        found = []
        for path in self.workspace.paths():
            if extension(path) not in {"csv", "json"} or any(within(path, folder) for folder in old):
                continue
            document: Document = self.workspace.document(path)
            found += [list(_rows(table, path)) for table in document.tables if len(table.columns) > 1]
        return found

    def record(self, record_id: str) -> Row | None:
        """The record of this id."""
        return next((row for register in self.registers for row in register if row.id == record_id), None)

    def named(self, text: str) -> list[Row]:
        """The records whose ids stand in a text."""
        return [row for register in self.registers for row in register if mentions(text, row.id)]

    @cached_property
    def actors(self) -> list[Row]:
        """The register whose ids are the agents of the log."""
        agents = {str(row[0]) for row in self.workspace.sql("SELECT DISTINCT agent FROM events").rows}
        return max(self.registers, key=lambda rows: len(agents & {row.id for row in rows}), default=[])

    @cached_property
    def actors_left_out(self) -> str | None:
        """The column that marks agents which never count, where a rule says so."""
        columns = set(self.actors[0].cells) if self.actors else set()
        for rule in self.rules:
            if rule.says(r"never count|left out|do(?:es)? not count|not counted"):
                for name in rule.quoted:
                    if name in columns:
                        return name
        return None

    def counting(self, instruction: str) -> list[str]:
        """Ids of the agents that an instruction speaks of, without those that never count."""
        left_out = self.actors_left_out
        rows = [row for row in self.actors if not (left_out and row.true(left_out))]
        named = [row for row in rows if mentions(instruction, row.id)]
        if named:
            return [row.id for row in named]
        groups = {
            (column, value)
            for row in rows
            for column, value in row.cells.items()
            if value != row.id and not value.isdigit() and len(value) > 3 and value[0].isupper()
        }
        hits = [(column, value) for column, value in groups if mentions(instruction, value)]
        if not hits:
            return [row.id for row in rows]
        column, value = max(hits, key=lambda hit: len(hit[1]))
        return [row.id for row in rows if row.cells[column] == value]


def mentions(text: str, name: str) -> bool:
    """True where ``name`` stands in ``text`` as a word of its own."""
    return (
        name in text and bool(name) and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None
    )


def _rows(table: Table, path: str) -> Iterator[Row]:
    for values, locator in zip(table.rows(), table.locators, strict=True):
        cells = {name: shown(value) for name, value in zip(table.columns, values, strict=True)}
        yield Row(cells, locator.source(path))
