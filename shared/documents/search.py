"""``search``: ``path:line`` hits over plain-text files.

Case does not matter. Regular expressions are matched by RE2 (through DuckDB), whose time is linear in the
text: Python's own ``re`` can be made to hang by a pattern, and would hold the whole process while it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from shared.documents.database import database
from shared.documents.text import lines_of
from shared.errors import ToolError

LIMIT, MOST_HITS = 50, 200
_LONGEST_LINE = 500

_MATCHES = """
    select i from (select unnest($1::varchar[]) as line, generate_subscripts($1::varchar[], 1) as i)
    where regexp_matches(line, $2, 'i') order by i
"""


def search(files: Iterable[tuple[str, bytes]], pattern: str, *, regex: bool, limit: int) -> dict[str, Any]:
    """Lines that contain ``pattern``, in the order of the files.

    Returns:
        ``{"hits": [{"path", "line", "text"}], "total", "truncated"}``; ``total`` counts all hits, lines are
        1-based, a long line's text is cut.

    Raises:
        ToolError: the pattern is empty or no regular expression.
    """
    hits: list[dict[str, Any]] = []
    total = 0
    for path, data in files:
        lines = lines_of(data)
        for index in matches(lines, pattern, regex=regex):
            total += 1
            if len(hits) < limit:
                hits.append({"path": path, "line": index + 1, "text": lines[index][:_LONGEST_LINE]})
    return {"hits": hits, "total": total, "truncated": total > len(hits)}


def matches(texts: Sequence[str], pattern: str, *, regex: bool) -> list[int]:
    """Indexes of the texts that contain the pattern.

    Raises:
        ToolError: the pattern is empty or no regular expression.
    """
    if not pattern:
        raise ToolError("pattern must not be empty")
    if not regex:
        needle = pattern.casefold()
        return [index for index, text in enumerate(texts) if needle in text.casefold()]
    try:
        found = database().cursor().execute(_MATCHES, [list(texts), pattern]).fetchall()
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise ToolError(f"not a regular expression (RE2): {str(error)[:200]}") from error
    return [int(row[0]) - 1 for row in found]
