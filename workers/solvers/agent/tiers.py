"""Which trust tier each file has, as far as the operator files say it in words that code can match.

The operator lists what lies where, and what counts how much: "signed security advisory | /reports/a.pdf" and
"T2: Signed advisories and circulars". The two are joined by the words they share. Where nothing is shared,
nothing is said: a tier is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from shared.documents.paths import within

_SECTION = re.compile(r"\b(?:tier|rank|trust|reliab|standing|source)", re.IGNORECASE)
_ITEM = re.compile(r"\s*[-*+]\s+\**([A-Z]+\d+)\**[\s:.]+(.*)")
_PATH = re.compile(r"/[\w./-]+")
_WORD = re.compile(r"[a-z]{4,}")
_STEM = 5
_COMMON = {"other", "their", "above", "named", "with", "where", "what", "from", "file", "whatever"}


def tiers(paths: Iterable[str], operator: Iterable[str]) -> dict[str, str]:
    """Path → label of its tier, for the paths of which the operator texts tell one.

    Args:
        operator: texts of the operator files.
    """
    lines = [line for text in operator for line in text.split("\n")]
    labels = _labels(lines)
    known: dict[str, str] = {}
    for path in paths:
        words = _stems(" ".join(path.rsplit("/", 2)[-2:]))
        for line in lines:
            if any(within(path, named.rstrip("/.")) for named in _PATH.findall(line)):
                words |= _stems(_PATH.sub("", line))
        scores = {label: len(words & said) for label, said in labels.items()}
        best = max(scores.values(), default=0)
        fitting = [label for label, score in scores.items() if score == best]
        if best and len(fitting) == 1:
            known[path] = fitting[0]
    return known


def _labels(lines: Iterable[str]) -> dict[str, set[str]]:
    """Label → stems of what it holds, of the items under headings about sources."""
    labels: dict[str, set[str]] = {}
    inside = False
    for line in lines:
        if line.startswith("#"):
            inside = _SECTION.search(line) is not None
        elif inside and (item := _ITEM.match(line)):
            labels[item[1]] = _stems(item[2])
    return labels


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text.lower()) if word not in _COMMON}
