"""What the operator files of a workspace say about effects, as far as the guard understands them.

The operator files are ``/AGENTS.md`` and the text files that it names; nothing else in a workspace is asked.
They are prose, so what is read here is modest, and it only ever narrows what the guard allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.documents.operator_files import read_operator_files

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
_NEVER = re.compile(r"\b(?:no|not|never|nowhere|none|must not|may not)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Policy:
    """What the operator files say about effects.

    Args:
        mail_domains: the only domains that mail may go to; None: they name none.
        personal_stays: personal data leaves in no message and no draft, whoever the recipient is.
    """

    mail_domains: frozenset[str] | None = None
    personal_stays: bool = False

    @classmethod
    def read(cls, paths: Iterable[str], load: Callable[[str], bytes]) -> Policy:
        """The policy of a workspace.

        Args:
            paths: of all its files.
            load: gives a file's bytes by path.
        """
        statements = read_operator_files(paths, load).statements
        domains = {domain for text in statements for domain in _mail_domains(text)}
        return cls(
            mail_domains=frozenset(domains) or None,
            personal_stays=any(_PERSONAL.search(text) and _NEVER.search(text) for text in statements),
        )


def _mail_domains(statement: str) -> set[str]:
    """The domains of a statement that says where mail may go, and that it may go nowhere else."""
    if not (_MAIL.search(statement) and _ONLY.search(statement)):
        return set()
    found = {match.group().lower() for match in _DOMAIN.finditer(statement)}
    return {domain for domain in found if domain.rpartition(".")[2] not in _FILE_ENDINGS}
