"""`scrimmage inspect`: documents with their locators, a workspace's tree, the rows of a query."""

from __future__ import annotations

import hashlib
import json as jsonlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from producer.cli.options import Json
from producer.cli.output import print_json, print_text, say, table, warn
from shared.errors import ToolError, UsageError
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.documents.document import Document
    from shared.documents.tables import SqlResult

_LONGEST = 300


def inspect(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="A file, a folder, or an archived run (run_x, arena:run_x)."),
    ],
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="A task of the run.")] = None,
    path: Annotated[str | None, typer.Option(help="Show this file of the workspace.")] = None,
    sql: Annotated[str | None, typer.Option(help="Run a SELECT over the workspace's tables.")] = None,
    profile: Annotated[bool, typer.Option("--profile", help="Describe the workspace's tables.")] = False,
    json: Json = False,
) -> None:
    """Show what Scrimmage reads: a document with its locators, a workspace's tree, the rows of a query.

    Examples:
      [bold]scrimmage inspect report.pdf[/bold]
      [bold]scrimmage inspect run_x1Y2z3 t07[/bold]
      [bold]scrimmage inspect run_x1Y2z3 t07 --path /fleet/tokens.csv[/bold]
      [bold]scrimmage inspect ./workspace --sql "select * from events limit 5"[/bold]
    """
    files = _files(target, task)
    try:
        _show(_Inspected(files), path, sql, profile, json)
    except ToolError as error:
        raise UsageError(str(error)) from error


class _Inspected:
    """A workspace made of local files; nothing is cached."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        from shared.documents.sandbox import Parsers
        from shared.documents.tables import Tables
        from shared.documents.tools import ReadOnlyTools

        self.files = files
        self._parsers = Parsers()
        self.tools = ReadOnlyTools(
            {name: partial(_bytes, file) for name, file in files.items()}, self.document
        )
        shas = {name: hashlib.sha256(str(file).encode()).hexdigest() for name, file in files.items()}
        self.tables = Tables(shas, self.document, self.tools.logbook)
        self._documents: dict[str, Document] = {}

    def document(self, name: str) -> Document:
        if name not in self._documents:
            self._documents[name] = self._parsers.parse(_bytes(self.files[name]), name)
        return self._documents[name]


def _show(inspected: _Inspected, path: str | None, sql: str | None, profile: bool, json: bool) -> None:
    if sql is not None:
        _print_rows(inspected.tables.sql(sql), json)
    elif profile:
        text = inspected.tables.profile()
        print_json({"profile": text}) if json else print_text(text, limit=len(text))
    elif path is not None or len(inspected.files) == 1:
        from shared.documents.paths import canonical, missing

        name = canonical(path) if path is not None else next(iter(inspected.files))
        if name not in inspected.files:
            raise missing(name, inspected.files)
        _print_document(name, inspected.document(name), json)
    else:
        tree = inspected.tools.call("tree", {})
        print_json(tree) if json else _print_tree(tree["entries"])


def _print_document(path: str, document: Document, json: bool) -> None:
    blocks = [
        {"locator": str(block.locator), "part": str(block.part), "citable": block.citable, "text": block.text}
        for block in document.blocks
    ]
    if json:
        facts = dict(document.facts)
        named = {"path": path, "format": document.format, "unreadable": document.unreadable}
        tables = [{"name": t.name, "columns": t.columns, "rows": len(t)} for t in document.tables]
        print_json({**named, "facts": facts, "blocks": blocks, "tables": tables})
        return
    say(f"{path}: {document.format}, {len(blocks)} blocks, {len(document.tables)} tables")
    if document.unreadable is not None:
        warn(f"unreadable: {document.unreadable}")
    for problem in document.facts.get("problems", ()):
        warn(problem)
    table(
        ("cite", "part", "text"),
        (
            (
                block["locator"] if block["citable"] else f"({block['locator'] or 'path alone'})",
                block["part"],
                str(block["text"])[:_LONGEST],
            )
            for block in blocks
        ),
    )


def _print_tree(entries: list[dict[str, Any]]) -> None:
    table(
        ("path", "format", "bytes", "pages", "read"),
        (
            (
                entry["path"] + ("/" if entry["type"] == "dir" else ""),
                entry.get("format"),
                entry.get("size"),
                entry.get("pages"),
                "yes" if entry.get("readable") else None,
            )
            for entry in entries
        ),
    )


def _print_rows(result: SqlResult, json: bool) -> None:
    sources = [[source.wire() for source in row] for row in result.sources]
    if json:
        print_json(
            {
                "columns": result.columns,
                "rows": result.rows,
                "sources": sources,
                "truncated": result.truncated,
                "note": result.note,
            }
        )
        return
    cited: list[str | None] = [None] * len(result.rows)
    if sources:
        cited = [_cited(row, total) for row, total in zip(sources, result.sources_total, strict=True)]
    table((*result.columns, "source"), ((*row, cite) for row, cite in zip(result.rows, cited, strict=True)))
    if result.truncated:
        say(f"only the first {len(result.rows)} rows are shown")
    if result.note:
        warn(result.note)


def _cited(sources: list[dict[str, Any]], total: int) -> str:
    shown = [" ".join(str(value) for value in source.values()) for source in sources[:3]]
    return "; ".join(shown) + (f" and {total - 3} more" if total > 3 else "")


def _files(target: str, task: str | None) -> dict[str, Path]:
    """Canonical path → file, of a file, a folder, or a task of an archived run."""
    place = Path(target)
    if task is None and place.is_file():
        return {f"/{place.name}": place}
    if task is None and place.is_dir():
        found = sorted(file for file in place.rglob("*") if file.is_file() and not file.is_symlink())
        if not found:
            raise UsageError(f"{target} is an empty folder")
        return {f"/{file.relative_to(place).as_posix()}": file for file in found}
    return _archived(target, task)


def _archived(run: str, task: str | None) -> dict[str, Path]:
    from producer.archive import Archive
    from shared.documents.paths import canonical

    archive = Archive(Settings.load().archive)
    try:
        ref = archive.find(run)
    except UsageError as unknown:
        if task is None:
            raise UsageError(f"there is no file or folder {run!r}, and {unknown}") from None
        raise
    manifest = archive.folder(ref) / "manifest.json"
    listed = jsonlib.loads(manifest.read_bytes()) if manifest.exists() else {}
    if task is None or task not in listed:
        raise UsageError(
            f"name a task of {ref} that has files: {', '.join(sorted(listed)) or 'there is none'}"
        )
    files = {canonical(path): archive.file(sha) for path, sha in listed[task].items()}
    kept = {path: file for path, file in files.items() if file.exists()}
    if gone := len(files) - len(kept):
        warn(f"{gone} files were evicted before the run was archived")
    if not kept:
        raise UsageError(f"no file of task {task} was archived")
    return kept


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
