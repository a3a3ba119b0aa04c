"""``read``: the lines of one plain-text file, at most 400 per call."""

from __future__ import annotations

from typing import Any

from shared.documents.paths import extension
from shared.documents.registry import TEXT_FORMATS, format_of
from shared.documents.text import lines_of
from shared.errors import ToolError

MOST_LINES = 400


def read(path: str, data: bytes, start_line: int | None, end_line: int | None) -> dict[str, Any]:
    """Lines ``start_line`` to ``end_line``, both 1-based and inclusive.

    Returns:
        ``{"path", "start_line", "end_line", "total_lines", "text"}``, and ``"truncated": true`` with a
        ``"note"`` where more lines were asked for than one call gives.

    Raises:
        ToolError: the format is not plain text, or the lines do not exist.
    """
    if format_of(path) not in TEXT_FORMATS:
        kind = extension(path) or "no extension"
        raise ToolError(
            f"{path} is a binary format ({kind}): read serves {', '.join(sorted(TEXT_FORMATS))} only; "
            "download the file and parse it"
        )
    lines = lines_of(data)
    first = 1 if start_line is None else start_line
    last = len(lines) if end_line is None else min(end_line, len(lines))
    if first < 1:
        raise ToolError(f"start_line must be 1 or more (got {first})")
    if end_line is not None and end_line < first:
        raise ToolError(f"end_line must not be before start_line (got {first} to {end_line})")
    if first > max(len(lines), 1):
        raise ToolError(f"start_line {first} is past the end: {path} has {len(lines)} lines")
    shown = min(last, first + MOST_LINES - 1)
    answer: dict[str, Any] = {
        "path": path,
        "start_line": first,
        "end_line": shown,
        "total_lines": len(lines),
        "text": "\n".join(lines[first - 1 : shown]),
    }
    if shown < last:
        answer["truncated"] = True
        answer["note"] = f"at most {MOST_LINES} lines per call; continue with start_line={shown + 1}"
    return answer
