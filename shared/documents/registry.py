"""The formats by file name: one table, and ``parse`` over it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePosixPath

from shared.documents.document import Document
from shared.documents.encoding import looks_like_text
from shared.errors import Unreadable

PARSER_VERSION = "1"
"""Changes whenever the same bytes give another document. Cache under sha256, format and this."""

_MODULES = {
    "txt": "text",
    "md": "markdown",
    "csv": "csv",
    "json": "json",
    "jsonl": "jsonl",
    "xlsx": "xlsx",
    "ods": "ods",
    "pdf": "pdf",
    "docx": "docx",
    "odt": "odt",
    "png": "image",
    "jpg": "image",
    "opaque": "opaque",
}
_EXTENSIONS = {
    **{name: name for name in _MODULES if name != "opaque"},
    "text": "txt",
    "log": "txt",
    "markdown": "md",
    "tsv": "csv",
    "ndjson": "jsonl",
    "jpeg": "jpg",
    "xlsm": "xlsx",
}
TEXT_FORMATS = frozenset({"txt", "md", "csv", "json", "jsonl"})
"""What ``read`` and ``search`` serve (Harness Arena Task API v1, "The workspace")."""


def format_of(name: str) -> str:
    """The format of a file of this name: one of ``locators.TAKES``, ``opaque`` for an unknown extension."""
    return _EXTENSIONS.get(PurePosixPath(name).suffix.lower().removeprefix("."), "opaque")


def load_formats() -> None:
    """Import every format with its libraries, so that the first document need not wait for them."""
    for module in _MODULES.values():
        import_module(f"shared.documents.formats.{module}")


def parse(data: bytes, name: str) -> Document:
    """Read a file.

    Args:
        data: its bytes.
        name: its name or path; only the extension matters.

    Returns:
        The document. A file of unknown extension is read as plain text if it is some, else it is opaque.

    Raises:
        Unreadable: nothing could be read; the reason says why. No other exception leaves this function.
    """
    wanted = format_of(name)
    if wanted == "opaque" and looks_like_text(data):
        wanted = "txt"
    try:
        reader: Callable[[bytes], Document] = import_module(
            f"shared.documents.formats.{_MODULES[wanted]}"
        ).parse
        return reader(data)
    except Unreadable:
        raise
    except MemoryError:
        raise Unreadable("needs more memory than a parser may have") from None
    except Exception as error:
        raise Unreadable(f"damaged: {type(error).__name__}: {str(error)[:200]}") from error
