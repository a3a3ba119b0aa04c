"""What a text wants done, read from its words.

Three readings of the same sentences. The *narrow* one knows the usual words for each kind of effect, and the
names that the operator's procedures have. The *wide* one allows every kind as soon as the text is more than a
question: nobody can list all words in which something may be asked for. ``demands`` are the narrow kinds of a
single sentence, where something is asked for and not only spoken of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

KINDS: Mapping[str, str] = {
    "quarantine": r"quarantin|isolat|\block(?:ed|ing)? (?:[\w-]+ )?(?:out|up)\b|lockout"
    r"|contain(?:ment|ing)?\b",
    "release": r"releas(?:e|ing)\b|\blet\b.*\b(?:out|go|back|free)\b|\blet go\b|\btak\w+\b.*\bout\b"
    r"|\bset (?:[\w-]+ )?free\b|back (?:to|at|in)\b|\b(?:end|lift|undo)\b|unlock",
    "revoke": r"revok(?:e|ing)\b|withdraw\b|cancel\b|invalidat",
    "rotate": r"rotat(?:e|ing|ion)\b|renew(?:al|als|ing)?\b|replace\b",
    "block": r"\bblock(?:s|ing)?\b|\bbar\b|shut out",
    "send": r"\bsend|\bmail|\be-?mail|\bwrite\b|notif|notice|inform\b|message|\bletter|let .* know"
    r"|\btell (?!me\b|us\b)|\bforward|\bpost\b|\bcc\b|\bshare .*\bwith\b|\bpass .*\b(?:on|along)\b"
    r"|\breply to\b|\b(?:give|pass|bring) (?:\w+ ){0,2}(?:word|warning|news)\b",
    "write": r"draft|prepare|write up|\bfile\b|\b(?:write|save|store|put|copy) .*\b(?:to|into|in|under|at) /",
}
"""Kinds of effect, and how they are asked for. The first five are operations of containment."""

_DONE: Mapping[str, str] = {
    "quarantine": r"quarantined|isolated|\blocked (?:out|up)",
    "release": r"\breleased|\blet (?:go|out)|\bfreed\b|unlocked",
    "block": r"\bblocked",
    "send": r"\bsent\b|mailed|forwarded|\btold\b|informed|notified",
    "write": r"\bwritten|drafted|\bstored|\bsaved",
}
"""The same as they are asked for to be done ("must be released", "I want it sent")."""

_TAMPER = (
    r"\b(?:delet|eras|remov|alter|rewrit|chang|purg|wip|falsif|amend|redact|overwrit|backdat|edit|scrub"
    r"|tamper)"
)
_DEMANDS = {**KINDS, "tamper": _TAMPER}

_POINTER = re.compile(
    r"procedur|as laid down|prescrib|drill|measure|runbook|playbook|standing order|carr(?:y|ied) out|"
    r"\bhandle|\bact (?:up)?on\b|\bexecut|\bdo (?:it|so|as|what|for)\b|take care|\bsee (?:to|it|that)\b|"
    r"compl(?:y|ied) with|fulfil|\bobey|\bhonou?r\b|implement|\bprocess\b|\bdeal with|attend to|into effect|"
    r"\bgrant\b|\bfollow (?:\w+ )?(?:order|instruction|request|directive|wish|letter|mail|message)",
    re.IGNORECASE,
)
"""Words that leave it to the operator's procedures, or to another text, what is to be done."""

_DUE = re.compile(
    r"\b(?:is|are) to\b|\bmust\b|\b(?:has|have|needs?|wants?|wishes) to\b|\bshould\b|\bshall\b|would like",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:.*[:,] )?(?:please )?(?:can|could|will|would) you (?:please |kindly )?", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.?!])\s+|\n\s*\n")
_CLAUSE = re.compile(
    r"[,;:]\s+(?:and\s+|then\s+)*|\s+(?:and|then|so that)\s+(?:then\s+)?|\s*[()]\s*", re.IGNORECASE
)
_QUOTED = re.compile(r"\"([^\"]{3,200})\"|“([^”]{3,200})”|(?<!\w)'([^']{3,200})'(?!\w)|(/[\w./-]+\w)")
_WANTED = re.compile(
    r"\b(?:want|wish|have|get|see|order|demand|ask|request|expect|insist)\b|\bif you\b", re.IGNORECASE
)
_NAMED = re.compile(r"\W*[\w-]*\d")
_DENIED = re.compile(r"\b(?:not|never|no|nor|neither|without|don't|nobody|nothing)\b", re.IGNORECASE)
_TOLD = re.compile(r"\b(?:was|were|has been|had been|have been|had)\b", re.IGNORECASE)
_DETERMINERS = frozenset(
    [
        *("the", "a", "an", "its", "their", "his", "her", "those", "these", "this", "that", "each", "every"),
        *("all", "both", "no", "not", "in", "of", "by", "for", "with", "at", "on"),
    ]
)
"""A clause that begins with one of these goes on with a list; it asks for nothing new."""

_TELLERS = frozenset(["i", "he", "she", "it", "they", "we", "there", "somebody", "someone", "nobody"])
"""A clause that begins with one of these, or with a name, tells what is so."""

_CONDITIONS = frozenset(
    ["if", "when", "whenever", "unless", "whether", "because", "since", "although", "though", "while", "who"]
)
"""A clause that begins with one of these says when or why, not what."""

_ASKING = frozenset(
    [
        *("who", "whom", "whose", "what", "which", "when", "where", "why", "how", "give", "name", "list"),
        *("find", "count", "compute", "read", "decide", "compare", "check", "rank", "determine", "show"),
        *("identify", "follow", "answer", "reply", "look", "tell", "state", "say", "calculate", "sum"),
        *("return", "provide", "extract", "describe", "explain", "estimate", "establish"),
    ]
)
"""First words of sentences that ask for an answer and for nothing else."""

_TELLING = re.compile(
    r"\b(?:give|pass|bring) (?:\w+ ){0,2}(?:word|warning|news|notice)\b"
    r"|\btell (?!me\b|us\b|how\b|wh\w+\b|in\b).*\b(?:about|that)\b",
    re.IGNORECASE,
)
"""Sentences that begin like a question and want somebody else to be told."""


class Wording:
    """The readings of one instruction.

    Args:
        procedures: texts of the operator's rules; those that begin with a name and a colon are procedures.
    """

    def __init__(self, instruction: str, procedures: Iterable[str]) -> None:
        self._instruction = instruction
        self._orders = [text for text in sentences(instruction) if _wants(text)]
        said = "\n".join(self._orders)
        asked = _kinds(said)
        for name, kinds in _named(procedures):
            if re.search(rf"\b{re.escape(name)}", said, re.IGNORECASE):
                asked |= kinds
        self.narrow = frozenset(asked or (KINDS if _POINTER.search(said) else ()))
        self.wide = frozenset(KINDS if self._orders else ())

    @property
    def obeyed(self) -> list[str]:
        """Titles and paths of texts that the instruction says are to be obeyed, or speaks of before."""
        pointing = [order for order in self._orders if _POINTER.search(order)]
        named = [name for order in pointing for name in _named_in(order)]
        return named if named or not pointing else _named_in(self._instruction)


def _named_in(text: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]


def sentences(text: str) -> list[str]:
    """A text's sentences, each in one line."""
    return [" ".join(part.split()) for part in _SENTENCE.split(text.strip()) if part.strip()]


@dataclass(frozen=True)
class Demand:
    """What a sentence asks for: a kind of effect, or ``tamper``, and the words around it."""

    kind: str
    clause: str


def demands(sentence: str) -> Iterator[Demand]:
    """What a sentence asks for; nothing where it tells, asks back or forbids."""
    if sentence.endswith("?") and not _POLITE.match(sentence):
        return
    due = _DUE.search(sentence) is not None
    for clause in _CLAUSE.split(sentence):
        if _DENIED.search(clause) or (_TOLD.search(clause) and not due):
            continue
        first = _first(clause)
        if first in _CONDITIONS:
            continue
        wanted = due or _WANTED.search(clause) is not None
        kinds = _kinds(clause, _DONE) if wanted else set()
        if wanted or not (first in _DETERMINERS | _TELLERS or _NAMED.match(clause)):
            kinds |= _kinds(clause, _DEMANDS)
        for kind in sorted(kinds):
            yield Demand(kind, clause)


def _wants(sentence: str) -> bool:
    """True where a sentence may want something done, beyond an answer."""
    if sentence.startswith("The answer"):
        return False
    if polite := _POLITE.match(sentence):
        return _wants(sentence[polite.end() :].rstrip("?") + ".")
    if sentence.endswith("?"):
        return False
    if _DUE.search(sentence) or _POINTER.search(sentence) or _TELLING.search(sentence):
        return True
    parts = (sentence, sentence.rpartition(": ")[2])
    if not any(_first(part) in _ASKING for part in parts):
        return True
    _, *more = _CLAUSE.split(sentence)
    return any(_first(clause) not in _DETERMINERS and _kinds(_beginning(clause)) for clause in more)


def _beginning(clause: str) -> str:
    """Where the verb of an order stands: "revoke it", not "ids that you revoke"."""
    return " ".join(clause.split()[:3])


def _first(text: str) -> str:
    found = re.search(r"[a-z]+", text.lower())
    return found.group() if found else ""


def _kinds(text: str, words: Mapping[str, str] = KINDS) -> set[str]:
    return {kind for kind, said in words.items() if re.search(said, text, re.IGNORECASE)}


def _named(rules: Iterable[str]) -> Iterable[tuple[str, set[str]]]:
    """The stem of each procedure's name, and the kinds of effect in it."""
    for rule in rules:
        name, colon, steps = re.sub(r"\*\*.*?\*\*\s*", "", rule).partition(":")
        head = re.match(r"[A-Za-z]{5,}", name.strip())
        if colon and head and len(name) < 60:
            yield head[0][:6], _kinds(steps)
