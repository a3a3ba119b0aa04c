"""``tree`` and ``list``: what a workspace holds, without opening more than needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from shared.documents.document import Document
from shared.documents.paths import extension, within
from shared.documents.registry import TEXT_FORMATS, format_of
from shared.errors import ToolError


def entries(
    paths: Iterable[str],
    folder: str,
    *,
    deep: bool,
    load: Callable[[str], bytes],
    document: Callable[[str], Document],
) -> list[dict[str, Any]]:
    """Folders and files below ``folder``, by path.

    Args:
        paths: all canonical paths of the workspace.
        folder: canonical path of a folder.
        deep: everything below it, else its direct children.
        load: gives a file's bytes; called for listed files only.
        document: gives the parsed document of a path; called for listed pdf files, for their pages.

    Returns:
        ``{"path", "type": "dir"}`` or ``{"path", "type": "file", "format", "size", "readable"}``, where
        ``size`` is in bytes (None for a file that cannot be had), ``readable`` says whether ``read`` can
        serve it, and a pdf has ``pages``.
    """
    root = folder.rstrip("/")
    below = [path for path in paths if within(path, folder) and path != folder]
    found: dict[str, dict[str, Any]] = {}
    for path in below:
        parts = path[len(root) + 1 :].split("/")
        for depth in range(1, len(parts)):
            if deep or depth == 1:
                parent = f"{root}/{'/'.join(parts[:depth])}"
                found.setdefault(parent, {"path": parent, "type": "dir"})
        if deep or len(parts) == 1:
            found[path] = _file(path, load, document)
    return [found[path] for path in sorted(found)]


def _file(path: str, load: Callable[[str], bytes], document: Callable[[str], Document]) -> dict[str, Any]:
    kind = extension(path) or "unknown"
    entry: dict[str, Any] = {
        "path": path,
        "type": "file",
        "format": kind,
        "size": None,
        "readable": format_of(path) in TEXT_FORMATS,
    }
    try:
        entry["size"] = len(load(path))
    except ToolError:
        return entry
    if kind == "pdf" and (pages := document(path).facts.get("pages")):
        entry["pages"] = pages
    return entry
