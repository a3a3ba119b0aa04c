"""What a text would have done at worst, if it were obeyed; for texts that a task says are to be obeyed.

Whoever signs it and however it sounds: what it demands is put to the guard as the effects that it would have.
Where one of them breaks a hard rule, so does the task, whatever plan a model makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from shared.models import Effect
from workers.desk import ADDRESS, DOMAIN, mentions
from workers.guard.effects import Guard, Verdict
from workers.guard.wording import Demand, demands, sentences

_HEADER = re.compile(
    r"(from|to|cc|bcc|subject|date|sent|received|reply-to|message-id)\s*:\s*(.*)", re.IGNORECASE
)
_PATH = re.compile(r"(?<![\w/.])/[\w./-]*\w")
_INTO = re.compile(r"\b(?:to|into|in|under|at|as) (/[\w./-]*\w)")
_PRIVATE = re.compile(
    r"phone|mobile numbers?|(?:private|personal|home) (?:\w+[- ])?(?:mail|address|number|data|detail)|"
    r"dates? of birth|birthday|salar|passport|\biban",
    re.IGNORECASE,
)


class Letter:
    """A text that is to be obeyed.

    Args:
        lines: of the text; those that look like the headers of a mail are no part of what it demands.
        ids: of all records of the workspace.
    """

    def __init__(self, lines: Collection[str], ids: Collection[str]) -> None:
        headers = [match for line in lines if (match := _HEADER.fullmatch(line.strip()))]
        self.text = "\n".join(line for line in lines if not _HEADER.fullmatch(line.strip()))
        self._senders = [m[2] for m in headers if m[1].lower() in {"from", "reply-to"}]
        self._ids = [name for name in ids if mentions(self.text, name)]

    def breach(self, guard: Guard) -> Verdict | None:
        """The hard rule that obeying it would break; None where there is none."""
        for sentence in sentences(self.text):
            for demand in demands(sentence):
                for effect in self._effects(demand, sentence):
                    verdict = guard.check(effect)
                    if not verdict.allowed:
                        return verdict
                if demand.kind == "send" and guard.known.personal_stays and _PRIVATE.search(sentence):
                    return guard.denies("personal-data-stays", f"it wants personal data sent: {sentence:.80}")
                if demand.kind == "tamper" and guard.known.keeps(sentence):
                    return guard.denies("records-stay", f"it wants records changed: {sentence:.80}")
        return None

    def _effects(self, demand: Demand, sentence: str) -> Iterator[Effect]:
        """What a demand would have done; its subjects stand beside it, else further away."""
        kind, clause = demand.kind, demand.clause
        if kind in {"release", "quarantine"}:
            near = [[name for name in self._ids if mentions(text, name)] for text in (clause, sentence)]
            for name in next(filter(None, near), self._ids):
                yield _operation(kind, "agent", name)
        elif kind == "block":
            for domain in DOMAIN.findall(clause):
                yield _operation(kind, "domain", domain)
        elif kind in {"write", "tamper"}:
            for path in (_INTO.findall(clause) or _PATH.findall(clause))[:1]:
                name = path if "." in path.rpartition("/")[2] else f"{path}/it"
                yield Effect(tool="write", args={"path": name, "content": ""})
        elif kind == "send":
            near = [_addresses(text) for text in (clause, sentence, self.text)]
            for address in next(filter(None, near), _addresses(" ".join(self._senders))):
                yield Effect(tool="send_message", args={"to": address, "subject": "", "body": ""})


def _addresses(text: str) -> list[str]:
    return [match.group() for match in ADDRESS.finditer(text)]


def _operation(kind: str, what: str, name: str) -> Effect:
    return Effect(tool="containment", args={"ops": [{"op": kind, what: name}]})
