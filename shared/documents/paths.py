"""Paths of a workspace: absolute, ``/``-separated, spelled in one way."""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Iterable

from shared.errors import ToolError


def canonical(path: str) -> str:
    """The one spelling of a path: ``logs//a.jsonl`` and ``./logs/a.jsonl`` are ``/logs/a.jsonl``.

    ``..`` is resolved inside the workspace; it cannot leave it.
    """
    return posixpath.normpath("/" + path.strip().replace("\\", "/").lstrip("/"))


def extension(path: str) -> str:
    """The lower-case extension without its dot, ``""`` where there is none."""
    return posixpath.splitext(path)[1].lower().lstrip(".")


def within(path: str, folder: str) -> bool:
    """True where ``path`` is ``folder`` or lies below it (both canonical)."""
    return folder in {"/", path} or path.startswith(folder + "/")


def missing(path: str, known: Iterable[str], what: str = "file") -> ToolError:
    """The error for a path that does not exist, with the nearest existing ones."""
    near = difflib.get_close_matches(path, list(known), n=3, cutoff=0.7)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `tree` shows what there is"
    return ToolError(f"{what} not found: {path[:200]}{hint}")
