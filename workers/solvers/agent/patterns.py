"""Regular expressions of a plan over blocks of text.

They are matched by RE2 (through DuckDB), whose time is linear in the text: Python's own ``re`` can be made to
hang by a pattern, and would hold the whole process while it does.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from shared.documents.database import database
from shared.errors import ToolError

_CAPTURES = """
    select i, regexp_extract_all(text, $2, {group})
    from (select unnest($1::varchar[]) as text, generate_subscripts($1::varchar[], 1) as i)
    where regexp_matches(text, $2) order by i
"""


def captures(texts: Sequence[str], pattern: str) -> list[tuple[int, list[str]]]:
    """What group 1 (the whole match, without groups) holds in each text that matches, by the text's index.

    ``^`` and ``$`` match at lines. Raises ToolError where the pattern is no regular expression.
    """
    multiline = "(?m)" + pattern
    for group in (1, 0):
        try:
            found = database().cursor().execute(_CAPTURES.format(group=group), [list(texts), multiline])
            return [(int(index) - 1, list(values)) for index, values in found.fetchall()]
        except (duckdb.Error, UnicodeEncodeError) as error:
            if group == 0 or "0 groups" not in str(error):
                raise ToolError(f"not a regular expression (RE2): {str(error)[:200]}") from None
    raise AssertionError("the second try returns or raises")
