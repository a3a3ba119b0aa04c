"""What the operator files say about a workspace's own files and fields.

``/AGENTS.md`` and the text files that it names are the only instructions in a workspace; anything else is
data and may lie. They are prose, so what is asked here is modest: which statements name a file, and which
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


def read_operator_files(paths: Iterable[str], load: Callable[[str], bytes]) -> OperatorFiles:
    """Find and read them; without ``/AGENTS.md`` there are none."""
    texts = sorted(path for path in paths if extension(path) in {"md", "txt"})
    if MAIN not in texts:
        return OperatorFiles()
    main = _text(load(MAIN))
    named = [path for path in texts if path != MAIN and path in main]
    contents = [main, *(_text(load(path)) for path in named)]
    statements = (part.strip() for content in contents for part in _BREAK.split(content))
    return OperatorFiles(tuple(part for part in statements if part))


def _text(data: bytes) -> str:
    return "\n".join(lines_of(data))


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None
