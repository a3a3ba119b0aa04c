"""Markdown: lines as in plain text, headings marked, pipe tables as tables whose rows have their lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.documents.document import Block, Document, Part, Table
from shared.documents.encoding import decode, lines
from shared.documents.formats import columns, text
from shared.documents.locators import Locator

_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_DASHES = re.compile(r":?-+:?")
_PIPE = re.compile(r"(?<!\\)\|")


def parse(data: bytes) -> Document:
    """Read a markdown file; every sequence of bytes is one."""
    decoded = decode(data)
    all_lines = lines(decoded.text)
    fenced = _fenced(all_lines)
    blocks = tuple(
        Block(
            line,
            Locator(line=number),
            Part.HEADING if number not in fenced and _HEADING.match(line) else Part.BODY,
        )
        for number, line in enumerate(all_lines, 1)
        if line.strip()
    )
    return Document("md", blocks, tuple(_tables(all_lines, fenced)), text.facts(decoded))


def _fenced(all_lines: Sequence[str]) -> set[int]:
    """The numbers of the lines within code fences."""
    fenced: set[int] = set()
    fence: str | None = None
    for number, line in enumerate(all_lines, 1):
        mark = _FENCE.match(line)
        if fence is not None:
            fenced.add(number)
        if mark and (fence is None or mark[1] == fence):
            fence = None if fence else mark[1]
            fenced.add(number)
    return fenced


def _tables(all_lines: Sequence[str], fenced: set[int]) -> list[Table]:
    tables: list[Table] = []
    number = 1
    while number < len(all_lines):
        header, divider = all_lines[number - 1], all_lines[number]
        dashes = _cells(divider)
        is_table = "|" in header and number not in fenced and all(map(_DASHES.fullmatch, dashes))
        if not is_table or len(_cells(header)) != len(dashes):
            number += 1
            continue
        first = last = number + 2
        while last <= len(all_lines) and "|" in all_lines[last - 1]:
            last += 1
        width = len(_cells(header))
        rows = [_cells(line)[:width] for line in all_lines[first - 1 : last - 1]]
        tables.append(
            Table(
                name=f"table {len(tables) + 1}",
                columns=columns.names(_cells(header)),
                values=columns.transpose(rows, width),
                locators=tuple(Locator(line=line) for line in range(first, last)),
                header=number,
            )
        )
        number = last
    return tables


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _PIPE.split(inner)]
