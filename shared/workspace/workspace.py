"""A task's files, as a solver sees them: documents, tables, search and tools, all local, all with locators.

What is derived from the same contents is derived once per process: tasks whose paths and hashes are the
same share one ``Contents`` (parsed documents, relations, logs). A ``Workspace`` is one task's view of it:
it brings the task's own way to load bytes, and its deadline.
"""

from __future__ import annotations

import builtins
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from shared.deadline import Deadline
from shared.documents.document import Block, Document
from shared.documents.paths import canonical, missing, within
from shared.documents.registry import format_of
from shared.documents.search import matches
from shared.documents.tables import ROWS, SqlResult, Tables
from shared.documents.tools import ReadOnlyTools
from shared.errors import ToolError, Unreadable
from shared.models import Source
from shared.workspace.citations import Checked, check

Load = Callable[[str], bytes]
"""Gives a file's bytes by sha256."""

HITS = 50


class Parsed(Protocol):
    """Gives parsed documents: the pool's ``ParseCache``, or a local one."""

    def get(self, sha: str, name: str, load: Callable[[], bytes], deadline: Deadline) -> Document: ...
    def warm(self, names: Mapping[str, str], deadline: Deadline) -> None: ...


@dataclass(frozen=True)
class Hit:
    """A block of a document that a search found.

    ``source`` cites it, or (with ``citable`` false) the nearest place that can be cited; ``part`` says what
    it is within its document.
    """

    source: Source
    text: str
    part: str
    citable: bool


@dataclass(frozen=True)
class _View:
    load: Load
    deadline: Deadline


_view: ContextVar[_View] = ContextVar("workspace_view")


class Contents:
    """What one set of files holds. Shared by the tasks that have it; thread safe.

    Args:
        shas: canonical path → sha256.
    """

    def __init__(self, shas: Mapping[str, str], parsed: Parsed) -> None:
        self.shas = shas
        self._parsed = parsed
        self._bytes: dict[str, builtins.bytes] = {}
        self.tools = ReadOnlyTools({path: partial(self._content, path) for path in shas}, self.document)
        self.tables = Tables(shas, self.document, self.tools.logbook)

    def bytes(self, path: str) -> builtins.bytes:
        """A file's bytes. Raises Unreadable for a file that is too large to be had."""
        sha = self.shas[path]
        if sha not in self._bytes:
            self._bytes[sha] = _view.get().load(sha)
        return self._bytes[sha]

    def document(self, path: str) -> Document:
        sha = self.shas[path]
        try:
            return self._parsed.get(sha, path, lambda: self.bytes(path), _view.get().deadline)
        except Unreadable as error:
            return Document(format_of(path), unreadable=error.reason)

    def warm(self) -> None:
        """Bring what the pool has parsed already into this process."""
        self._parsed.warm({sha: path for path, sha in self.shas.items()}, _view.get().deadline)

    def _content(self, path: str) -> builtins.bytes:
        try:
            return self.bytes(path)
        except Unreadable as error:
            raise ToolError(f"{path}: {error.reason}") from None


class Workspace:
    """One task's workspace. Thread safe.

    Args:
        contents: shared with other tasks.
        load: this task's way to get bytes; called for what the process does not have.
        deadline: of this task.
    """

    def __init__(self, contents: Contents, load: Load, deadline: Deadline) -> None:
        self._contents = contents
        self._own = _View(load, deadline)
        self.tools = WorkspaceTools(self)

    def paths(self) -> tuple[str, ...]:
        """All files, by their canonical paths."""
        return tuple(sorted(self._contents.shas))

    def sha256(self, path: str) -> str:
        """The hash of a file's bytes. Raises ToolError for an unknown path."""
        return self._contents.shas[self._known(path)]

    def bytes(self, path: str) -> builtins.bytes:
        """A file's bytes.

        Raises:
            ToolError: the workspace has no such file.
            Unreadable: it is too large to be had.
        """
        with self._in_use() as contents:
            return contents.bytes(self._known(path))

    def document(self, path: str) -> Document:
        """A file as blocks and tables with locators; ``unreadable`` says why where it is none.

        Raises:
            ToolError: the workspace has no such file.
        """
        with self._in_use() as contents:
            return contents.document(self._known(path))

    def at(self, source: Source) -> str | None:
        """The text at a citation; None where there is none. For an image: what is known of it."""
        with self._in_use() as contents:
            checked = check([source], contents.shas, contents.document)
            if not checked.sources:
                return None
            right = checked.sources[0]
            blocks = contents.document(right.path).blocks
            texts = [block.text for block in blocks if block.locator.source(right.path) == right]
            return "\n".join(texts)

    def search(self, pattern: str, path: str = "/", *, regex: bool = False, limit: int = HITS) -> list[Hit]:
        """Blocks of all documents, of every format, that contain a pattern; case does not matter.

        Args:
            pattern: text, or a regular expression (RE2).
            path: a file or folder.

        Raises:
            ToolError: the pattern is empty or no regular expression.
        """
        folder = canonical(path)
        hits: list[Hit] = []
        with self._in_use() as contents:
            for name in self.paths():
                if within(name, folder) and len(hits) < limit:
                    blocks = contents.document(name).blocks
                    found = matches([block.text for block in blocks], pattern, regex=regex)
                    hits += [_hit(name, blocks[index]) for index in found[: limit - len(hits)]]
        return hits

    def sql(
        self, query: str, *, limit: int = ROWS, aliases: Mapping[str, tuple[str, str]] | None = None
    ) -> SqlResult:
        """Run one SELECT over the tables and ``events``; see ``Tables.sql``."""
        with self._in_use() as contents:
            return contents.tables.sql(query, limit=limit, deadline=self._own.deadline, aliases=aliases)

    def relations(self) -> Mapping[str, tuple[str, str]]:
        """What queries call the tables: of each name the file's path and the table's name in it."""
        with self._in_use() as contents:
            return contents.tables.files()

    def profile(self) -> str:
        """What the tables hold, in few words; see ``Tables.profile``."""
        with self._in_use() as contents:
            contents.warm()
            return contents.tables.profile()

    def check_sources(self, sources: Iterable[Source]) -> Checked:
        """Sources whose places exist, and notes on the others; see ``citations``."""
        with self._in_use() as contents:
            return check(sources, contents.shas, contents.document)

    def warm(self) -> None:
        """Bring what the pool has parsed already into this process, in one round trip per format."""
        with self._in_use() as contents:
            contents.warm()

    def _known(self, path: str) -> str:
        found = canonical(path)
        if found not in self._contents.shas:
            raise missing(found, self._contents.shas)
        return found

    @contextmanager
    def _in_use(self) -> Iterator[Contents]:
        """Inside, whatever the shared contents load comes this task's way."""
        token = _view.set(self._own)
        try:
            yield self._contents
        finally:
            _view.reset(token)


class WorkspaceTools:
    """The read-only tools over a workspace (``shared.documents.tools``)."""

    names = ReadOnlyTools.names

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def call(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one tool call. Raises ToolError for what is wrong with it."""
        with self._workspace._in_use() as contents:
            return contents.tools.call(name, args)


class Workspaces:
    """The workspaces of one process.

    Args:
        parsed: where documents come from.
        keep: sets of contents that are kept for tasks to come: retries, come-backs, replays of a seed.
    """

    def __init__(self, parsed: Parsed, *, keep: int = 12) -> None:
        self._parsed = parsed
        self._keep = keep
        self._kept: OrderedDict[frozenset[tuple[str, str]], Contents] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, shas: Mapping[str, str], load: Load, deadline: Deadline) -> Workspace:
        """The workspace over these files. Loads and parses nothing yet.

        Args:
            shas: path → sha256, as the platform lists them.
            load: gives bytes by sha256; raises Unreadable for a file that is too large.
            deadline: of the task.
        """
        by_path = {canonical(path): sha for path, sha in shas.items()}
        key = frozenset(by_path.items())
        with self._lock:
            contents = self._kept.get(key)
            if contents is None:
                contents = self._kept[key] = Contents(by_path, self._parsed)
            self._kept.move_to_end(key)
            while len(self._kept) > self._keep:
                self._kept.popitem(last=False)
        return Workspace(contents, load, deadline)


def _hit(path: str, block: Block) -> Hit:
    return Hit(block.locator.source(path), block.text, str(block.part), block.citable)
