"""Carries out reference plans with the product's own tools, as the stand-in model's solver will."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from emulators.arena.scenario.model import Plan, Step
from shared.documents.catalog import name_tables
from shared.documents.document import Document
from shared.documents.logs import open_logs
from shared.documents.registry import parse
from shared.documents.tables import Tables
from shared.documents.tools import ReadOnlyTools
from shared.models import Source

LOCATORS = ("path", "line", "record", "sheet", "row")


@dataclass
class Desk:
    """A workspace with the product's tools over it, and the results and sources gathered so far.

    Args:
        shas: path → sha256.
        image_texts: sha256 → what stands in an image.
        containment_path: the file behind ``get_containment``.
    """

    files: Mapping[str, bytes]
    shas: Mapping[str, str]
    image_texts: Mapping[str, str]
    containment_path: str
    parsed: dict[str, Document]
    results: dict[str, Any] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)

    def document(self, path: str) -> Document:
        sha256 = self.shas[path]
        if sha256 not in self.parsed:
            self.parsed[sha256] = parse(self.files[path], path)
        return self.parsed[sha256]

    @cached_property
    def tables(self) -> Tables:
        return Tables(self.shas, self.document, lambda: open_logs(self.files, self.files.__getitem__))

    @cached_property
    def names(self) -> Mapping[tuple[str, str], str]:
        kinds = (".csv", ".json", ".xlsx", ".ods", ".jsonl")
        listed = []
        for path in self.files:
            if path.endswith(".jsonl"):
                listed.append((path, ""))
            elif path.endswith(kinds):
                listed += [(path, table.name) for table in self.document(path).tables]
        return name_tables(listed)


def carry_out(plan: Plan, desk: Desk) -> tuple[Any, list[Source]]:
    """The answer and the sources that follow from a plan."""
    for step in plan.steps:
        result = _STEPS[step.kind](step, desk)
        if step.name:
            desk.results[step.name] = result
    return _filled(plan.answer, desk), list(dict.fromkeys(desk.sources))


def _filled(answer: Any, desk: Desk) -> Any:
    if isinstance(answer, dict):
        return {key: _filled(value, desk) for key, value in answer.items()}
    if isinstance(answer, str) and answer.startswith("$"):
        name, _, key = answer[1:].partition(".")
        return desk.results[name][key] if key else desk.results[name]
    return answer


def _rule(step: Step, desk: Desk) -> None:
    if step.args.get("cite"):
        path, marker = str(step.args["path"]), f"**{step.args['id']}**"
        lines = desk.files[path].decode().split("\n")
        desk.sources.append(Source(path=path, line=next(n for n, t in enumerate(lines, 1) if marker in t)))


def _sql(step: Step, desk: Desk) -> Any:
    query = str(step.args["query"])
    for name, value in desk.results.items():
        values = value if isinstance(value, list) else [value]
        texts = ", ".join("'" + str(v).replace("'", "''") + "'" for v in values)
        query = query.replace("{$" + name + "}", texts)
    for alias, where in step.args["tables"].items():
        wanted = (where["path"], where.get("sheet", ""))
        relation = next(
            name for key, name in desk.names.items() if key[0] == wanted[0] and wanted[1] in ("", key[1])
        )
        query = re.sub(rf"\b(FROM|JOIN) {alias}\b", rf"\1 {relation}", query)
    answer = desk.tables.sql(query, limit=2_000)
    rows = answer.records()
    cited = rows if step.args.get("cite") == "all" else rows[:1] + rows[-1:]
    if "cite" in step.args:
        for suffix in ("", "_2"):
            for row in cited:
                source = {key: row.get(f"_{key}{suffix}") for key in LOCATORS}
                if source["path"]:
                    desk.sources.append(Source(**source))
    shape = step.args["shape"]
    first = answer.columns[0]
    if shape == "value":
        return rows[0][first]
    if shape == "list":
        return [row[first] for row in rows]
    return rows[0] if shape == "object" else None


def _find(step: Step, desk: Desk) -> Any:
    path, found = str(step.args["path"]), []
    for block in desk.document(path).blocks:
        for match in re.finditer(str(step.args["pattern"]), block.text, re.MULTILINE):
            found.append(match[1])
            if step.args.get("cite"):
                desk.sources.append(block.locator.source(path))
            if not step.args.get("all"):
                return match[1]
    assert found, (step, [b.text for b in desk.document(path).blocks][:40])
    return found


def _look(step: Step, desk: Desk) -> Any:
    path = str(step.args["path"])
    found = re.findall(str(step.args["pattern"]), desk.image_texts[desk.shas[path]], re.MULTILINE)
    desk.sources.append(Source(path=path))
    return found if step.args.get("all") else found[0]


def _tool(step: Step, desk: Desk) -> Any:
    if step.args["tool"] == "get_containment":
        return json.loads(desk.files[desk.containment_path])[step.args["take"]]
    result = ReadOnlyTools(desk.files).call(str(step.args["tool"]), step.args["args"])
    desk.sources += [Source(path=edge["file"], record=edge["record"]) for edge in result["edges"]]
    return result[step.args["take"]]


_STEPS = {
    "rule": _rule,
    "given": lambda step, desk: step.args["value"],
    "sql": _sql,
    "find": _find,
    "look": _look,
    "tool": _tool,
}
