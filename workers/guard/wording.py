"""What an instruction wants done, read from its words.

Two readings. The *narrow* one knows the usual words for each kind of effect, and the names that the
operator's procedures have. The *wide* one allows every kind as soon as the instruction is more than a
question: nobody can list all words in which something may be asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

KINDS: Mapping[str, str] = {
    "quarantine": r"quarantin|isolat|\block(?:ed|ing)? (?:\w+ )?(?:out|up)\b|lockout|contain(?:ment|ing)?\b",
    "release": r"releas(?:e|ing)\b|\blet\b.*\b(?:out|go|back|free)\b|\blet go\b|\btak\w+\b.*\bout\b"
    r"|\bset free\b|back (?:to|at|in)\b|\b(?:end|lift|undo)\b|unlock",
    "revoke": r"revok(?:e|ing)\b|withdraw\b|cancel\b|invalidat",
    "rotate": r"rotat(?:e|ing|ion)\b|renew(?:al|als|ing)?\b|replace\b",
    "block": r"\bblock(?:s|ing)?\b|\bbar\b|shut out",
    "send": r"\bsend|\bmail|e-mail|\bwrite\b|notif|notice|inform\b|message|\bletter|let .* know",
    "write": r"draft|prepare|write up|\bfile\b",
}
"""Kinds of effect, and how they are asked for. The first five are operations of containment."""

_POINTER = re.compile(
    r"procedur|as laid down|prescrib|drill|measure|runbook|carr(?:y|ied) out|\bhandle|\bact on\b|\bexecute|"
    r"standing order|\bdo (?:it|so|as|what|for)\b|take care|see to",
    re.IGNORECASE,
)
"""Words that leave it to the operator's procedures, or to another text, what is to be done."""

_DUE = re.compile(
    r"\b(?:is|are) to\b|\bmust\b|\b(?:has|have|needs?|wants?|wishes) to\b|\bshould\b|\bshall\b|would like",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_QUOTED = re.compile(r"\"([^\"]{3,200})\"|“([^”]{3,200})”")
_ASKING = frozenset(
    [
        *("who", "whom", "whose", "what", "which", "when", "where", "why", "how", "give", "name", "list"),
        *("find", "count", "compute", "read", "decide", "compare", "check", "rank", "determine", "show"),
        *("identify", "follow", "answer", "reply", "look", "tell", "state"),
    ]
)
"""First words of sentences that ask for an answer and for nothing else."""


class Wording:
    """The readings of one instruction.

    Args:
        procedures: texts of the operator's rules; those that begin with a name and a colon are procedures.
    """

    def __init__(self, instruction: str, procedures: Iterable[str]) -> None:
        self._orders = [text for text in _SENTENCE.split(instruction.strip()) if _wants(text)]
        said = "\n".join(self._orders)
        asked = _kinds(said)
        for name, kinds in _named(procedures):
            if re.search(rf"\b{re.escape(name)}", said, re.IGNORECASE):
                asked |= kinds
        self.narrow = frozenset(asked or (KINDS if _POINTER.search(said) else ()))
        self.wide = frozenset(KINDS if self._orders else ())

    @property
    def obeyed(self) -> list[str]:
        """What the instruction quotes where it says that another text is to be obeyed."""
        return [
            match[1] or match[2]
            for order in self._orders
            if _POINTER.search(order)
            for match in _QUOTED.finditer(order)
        ]


def _wants(sentence: str) -> bool:
    """True where a sentence may want something done, beyond an answer."""
    if sentence.endswith("?") or sentence.startswith("The answer"):
        return False
    if _DUE.search(sentence) or _POINTER.search(sentence):
        return True
    parts = (sentence, sentence.rpartition(": ")[2])
    return not any(_first(part) in _ASKING for part in parts)


def _first(text: str) -> str:
    found = re.search(r"[a-z]+", text.lower())
    return found.group() if found else ""


def _kinds(text: str) -> set[str]:
    return {kind for kind, words in KINDS.items() if re.search(words, text, re.IGNORECASE)}


def _named(rules: Iterable[str]) -> Iterable[tuple[str, set[str]]]:
    """The stem of each procedure's name, and the kinds of effect in it."""
    for rule in rules:
        name, colon, steps = re.sub(r"\*\*.*?\*\*\s*", "", rule).partition(":")
        head = re.match(r"[A-Za-z]{5,}", name.strip())
        if colon and head and len(name) < 60:
            yield head[0][:6], _kinds(steps)
