"""``search``: ``path:line`` hits over plain-text files.

Case does not matter. Regular expressions are matched by RE2 (through DuckDB), whose time is linear in the
text: Python's own ``re`` can be made to hang by a pattern, and would hold the whole process while it does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

import duckdb

from shared.documents.text import lines_of
from shared.errors import ToolError

LIMIT, MOST_HITS = 50, 200
_LONGEST_LINE = 500

_MATCHES = """
    select i from (select unnest($1::varchar[]) as line, generate_subscripts($1::varchar[], 1) as i)
    where regexp_matches(line, $2, 'i') order by i
"""
_lock = threading.Lock()
_database: duckdb.DuckDBPyConnection | None = None


def search(files: Iterable[tuple[str, bytes]], pattern: str, *, regex: bool, limit: int) -> dict[str, Any]:
    """Lines that contain ``pattern``, in the order of the files.

    Returns:
        ``{"hits": [{"path", "line", "text"}], "total", "truncated"}``; ``total`` counts all hits, lines are
        1-based, a long line's text is cut.

    Raises:
        ToolError: the pattern is empty or no regular expression.
    """
    if not pattern:
        raise ToolError("pattern must not be empty")
    hits: list[dict[str, Any]] = []
    total = 0
    for path, data in files:
        lines = lines_of(data)
        for number in _by_regex(lines, pattern) if regex else _by_text(lines, pattern.casefold()):
            total += 1
            if len(hits) < limit:
                hits.append({"path": path, "line": number, "text": lines[number - 1][:_LONGEST_LINE]})
    return {"hits": hits, "total": total, "truncated": total > len(hits)}


def _by_text(lines: tuple[str, ...], needle: str) -> Iterator[int]:
    return (number for number, line in enumerate(lines, start=1) if needle in line.casefold())


def _by_regex(lines: tuple[str, ...], pattern: str) -> list[int]:
    try:
        found = _cursor().execute(_MATCHES, [list(lines), pattern]).fetchall()
    except duckdb.Error as error:
        raise ToolError(f"not a regular expression (RE2): {str(error)[:200]}") from error
    return [int(row[0]) for row in found]


def _cursor() -> duckdb.DuckDBPyConnection:
    global _database  # noqa: PLW0603 - one database per process, opened by the first search
    with _lock:
        if _database is None:
            _database = duckdb.connect(config={"threads": 1, "enable_external_access": False})
        return _database.cursor()
