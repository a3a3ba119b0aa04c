"""``tree`` and ``list``: what a workspace holds, without opening more than needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from io import BytesIO
from typing import Any

from shared.documents.paths import extension, within
from shared.documents.registry import TEXT_FORMATS, format_of
from shared.errors import ToolError


def entries(
    paths: Iterable[str], folder: str, *, deep: bool, load: Callable[[str], bytes]
) -> list[dict[str, Any]]:
    """Folders and files below ``folder``, by path.

    Args:
        paths: all canonical paths of the workspace.
        folder: canonical path of a folder.
        deep: everything below it, else its direct children.
        load: gives a file's bytes; called for listed files only (size, pages).

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
            found[path] = _file(path, load)
    return [found[path] for path in sorted(found)]


def _file(path: str, load: Callable[[str], bytes]) -> dict[str, Any]:
    kind = extension(path) or "unknown"
    entry: dict[str, Any] = {
        "path": path,
        "type": "file",
        "format": kind,
        "size": None,
        "readable": format_of(path) in TEXT_FORMATS,
    }
    try:
        data = load(path)
    except ToolError:
        return entry
    entry["size"] = len(data)
    if kind == "pdf" and (pages := pdf_pages(data)) is not None:
        entry["pages"] = pages
    return entry


@lru_cache(maxsize=512)
def pdf_pages(data: bytes) -> int | None:
    """The number of pages, None where the file cannot be opened."""
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(BytesIO(data)) as document:
            return len(document)
    except (pypdfium2.PdfiumError, ValueError, OSError):
        return None
