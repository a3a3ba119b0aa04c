"""What the operator files of a workspace say about effects, as far as the guard understands them.

The operator files are ``/AGENTS.md`` and the text files that it names; nothing else in a workspace is asked.
They are prose, so what is read here is modest, and it only ever narrows what the guard allows. Rules on
particular records ("an agent marked as protected") are joined with the registers by the name of a column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from shared.documents.operator_files import read_operator_files
from shared.models import Source
from workers.desk import Desk, Rule

_DOMAIN = re.compile(r"(?<![\w/.-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?![\w/-])", re.IGNORECASE)
_FILE_ENDINGS = {
    "md",
    "txt",
    "csv",
    "json",
    "jsonl",
    "pdf",
    "docx",
    "odt",
    "xlsx",
    "ods",
    "png",
    "jpg",
    "jpeg",
}
_MAIL = re.compile(r"\b(?:e-?mails?|mails?|messages?|post|letters?|recipients?|addresses)\b", re.IGNORECASE)
_ONLY = re.compile(r"\b(?:only|solely|exclusively|nowhere else|no other|nobody else|alone)\b", re.IGNORECASE)
_PERSONAL = re.compile(r"\b(?:personal|private) (?:data|information|details)\b", re.IGNORECASE)
_NEVER = re.compile(r"\b(?:no|not|never|nowhere|none|must not|may not|neither)\b", re.IGNORECASE)
_HANDS_OFF = re.compile(
    r"\b(?:quarantin\w*|isolat\w*|releas\w*|contain(?:ed|s|ment)?|lock\w*|let go|touch\w*|suspend\w*)\b",
    re.IGNORECASE,
)
_RECORDS = re.compile(r"\b(log|audit|record|entr|trail|journal|protocol)(?:s|y|ies)?\b", re.IGNORECASE)
_CHANGED = re.compile(
    r"\b(?:chang|alter|remov|eras|delet|amend|tamper|falsif|edit|rewrit|touch)\w*", re.IGNORECASE
)
_DRAFTS = re.compile(r"/drafts/")
_PERSONAL_COLUMN = re.compile(r"phone|mobile|\btel|private|birth|iban|salary|passport|home_", re.IGNORECASE)
_MARKS = {"yes", "no", "true", "false", "y", "n", "0", "1"}
_SHORTEST_PERSONAL = 6


@dataclass(frozen=True)
class HardRules:
    """What the operator files say about effects.

    Args:
        mail_domains: the only domains that mail may go to; None: they name none.
        personal_stays: personal data leaves in no message and no draft, whoever the recipient is.
        personal: such data, as the registers hold them.
        protected: ids of records that are neither quarantined nor released.
        records: words for the records that nobody changes ("audit", "log").
        lines: name of a rule of the guard → the operator's line that says it.
    """

    mail_domains: frozenset[str] | None = None
    personal_stays: bool = False
    personal: frozenset[str] = frozenset()
    protected: frozenset[str] = frozenset()
    records: frozenset[str] = frozenset()
    lines: dict[str, Source] = field(default_factory=dict)

    def keeps(self, text: str) -> bool:
        """True where a text speaks of records that nobody changes."""
        return bool(self.records & _records(text))

    @classmethod
    def of(cls, desk: Desk) -> HardRules:
        """Those of a workspace, joined with its registers."""
        workspace, rules = desk.workspace, desk.rules
        statements = read_operator_files(workspace.paths(), workspace.bytes).statements
        domains = {domain for text in statements for domain in _mail_domains(text)}
        personal_stays = any(_says_personal_stays(text) for text in statements)
        marked = [(rule, column) for rule in rules for column in _marks(rule, desk)]
        kept = next((rule for rule in rules if _says_records_stay(rule.text)), None)
        lines = {
            "recipient-domain": _first(rules, lambda text: bool(_mail_domains(text))),
            "personal-data-stays": _first(rules, _says_personal_stays),
            "write-only-under-drafts": _first(
                rules, lambda text: bool(_DRAFTS.search(text) and _ONLY.search(text))
            ),
            "protected": marked[0][0].source if marked else None,
            "records-stay": kept.source if kept else None,
        }
        rows = [row for register in desk.registers for row in register]
        return cls(
            mail_domains=frozenset(domains) or None,
            personal_stays=personal_stays,
            personal=frozenset(_personal(desk)) if personal_stays else frozenset(),
            records=frozenset(_records(kept.text) if kept else ()),
            protected=frozenset(row.id for row in rows if any(row.true(column) for _, column in marked)),
            lines={name: source for name, source in lines.items() if source is not None},
        )


def _says_records_stay(text: str) -> bool:
    return any(_NEVER.search(part) and _CHANGED.search(part) and _records(part) for part in text.split(";"))


def _records(text: str) -> set[str]:
    return {found.lower() for found in _RECORDS.findall(text)}


def _says_personal_stays(text: str) -> bool:
    return bool(_PERSONAL.search(text) and _NEVER.search(text))


def _first(rules: Iterable[Rule], says: Callable[[str], bool]) -> Source | None:
    return next((rule.source for rule in rules if says(rule.text)), None)


def _marks(rule: Rule, desk: Desk) -> Iterator[str]:
    """The columns of yes and no that a rule names as a reason to leave a record alone."""
    if not (_NEVER.search(rule.text) and _HANDS_OFF.search(rule.text)):
        return
    words = {word[:6] for word in re.findall(r"[a-z]{4,}", rule.text.lower())}
    for register in desk.registers:
        for column in register[0].cells if register else ():
            stems = {word[:6] for word in re.findall(r"[a-z]{4,}", column.lower())}
            if stems & words and {row.cells.get(column, "").lower() for row in register} <= _MARKS | {""}:
                yield column


def _personal(desk: Desk) -> Iterator[str]:
    for register in desk.registers:
        for row in register:
            for column, value in row.cells.items():
                if _PERSONAL_COLUMN.search(column) and len(value) >= _SHORTEST_PERSONAL:
                    yield value


def _mail_domains(statement: str) -> set[str]:
    """The domains of a statement that says where mail may go, and that it may go nowhere else."""
    if not (_MAIL.search(statement) and _ONLY.search(statement)):
        return set()
    found = {match.group().lower() for match in _DOMAIN.finditer(statement)}
    return {domain for domain in found if domain.rpartition(".")[2] not in _FILE_ENDINGS}
