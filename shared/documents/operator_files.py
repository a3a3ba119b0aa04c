"""What the operator files say about a workspace's own files and fields.

``/AGENTS.md`` and the text files that it names are the only instructions in a workspace, except for records
that it names too (an export of messages: every other line bears a moment); anything else is data and may
lie. They are prose, so what is asked here is modest: which statements name a file, and which
describe a field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.documents.paths import extension
from shared.documents.text import lines_of

MAIN = "/AGENTS.md"

# A statement is a paragraph, an item of a list, a row of a table or a heading.
_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+#|>]|\d+[.)])\s?)|(?<=\|)\n")

_MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d|\b\d\d?[./]\d\d?[./]\d{2,4}\b.*\b\d\d?:\d\d")


@dataclass(frozen=True)
class OperatorFiles:
    """The statements of the operator files, in their order."""

    statements: tuple[str, ...] = ()

    def about(self, path: str) -> list[str]:
        """Statements that name a file: by its path, its name, or (after those) its folder."""
        folder, _, name = path.rpartition("/")
        by_name = [text for text in self.statements if path in text or _names(text, name)]
        by_folder = [
            text for text in self.statements if folder and _names(text, folder + "/") and text not in by_name
        ]
        return by_name + by_folder

    def field(self, name: str) -> str:
        """What they say about a field of a log or table, in lower case; empty where they are silent."""
        quoted = re.compile(rf"(?:`|\|\s*|\*\*){re.escape(name)}(?:`|\s*\||\*\*)(.*)", re.DOTALL)
        found = [match[1] for text in self.statements if (match := quoted.search(text))]
        return " ".join(found).lower()


def operator_texts(paths: Iterable[str], load: Callable[[str], bytes]) -> dict[str, str]:
    """Their texts by path, ``/AGENTS.md`` first; without it there are none."""
    texts = sorted(path for path in paths if extension(path) in {"md", "txt"})
    if MAIN not in texts:
        return {}
    main = _text(load(MAIN))
    named = {path: _text(load(path)) for path in texts if path != MAIN and _names_path(main, path)}
    return {MAIN: main} | {path: text for path, text in named.items() if not _is_record(text)}


def read_operator_files(paths: Iterable[str], load: Callable[[str], bytes]) -> OperatorFiles:
    """Find and read them."""
    contents = operator_texts(paths, load).values()
    statements = (part.strip() for content in contents for part in _BREAK.split(content))
    return OperatorFiles(tuple(part for part in statements if part))


def _is_record(text: str) -> bool:
    """True where every other line bears a moment: rules may name a date here and there, records do always."""
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(_MOMENT.search(line) is not None for line in lines) * 2 > len(lines)


def _text(data: bytes) -> str:
    return "\n".join(lines_of(data))


def _names_path(text: str, path: str) -> bool:
    """True where a text names a file from the root, with or without the first slash."""
    return re.search(rf"(?<![\w./-])\.{{0,2}}/?{re.escape(path[1:])}(?![\w-]|\.\w)", text) is not None


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None
