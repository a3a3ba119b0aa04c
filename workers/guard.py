"""Decides whether an effect may leave. Every decision names its rule.

The rules that are built in hold everywhere; the operator files of a workspace may add which domains mail may
go to. Other text of a workspace is data: nothing in it widens what the guard allows.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from shared.models import Effect

DRAFTS = "/drafts/"

_ADDRESS = re.compile(r"[\w.+-]+@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)")
_PERSONAL = {
    "an e-mail address": re.compile(r"[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
    "a telephone number": re.compile(r"(?<![\w-])\+\d{1,3}[ /-]?\(?\d[\d ()/-]{6,}\d"),
    "an account number": re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?\b"),
    "a date of birth": re.compile(r"\b(?:born|birth|dob|date of birth)\b[^\n]{0,20}\d", re.IGNORECASE),
    "a card number": re.compile(r"\b(?:\d{4}[ -]?){3}\d{4}\b"),
}


@dataclass(frozen=True)
class Verdict:
    """What the guard says: whether the effect may leave, and by which rule."""

    allowed: bool
    rule: str
    reason: str = ""


@dataclass(frozen=True)
class Policy:
    """What the operator files say about outgoing mail.

    Args:
        mail_domains: the only domains that mail may go to; None: the operator files name none.
    """

    mail_domains: frozenset[str] | None = None


@dataclass
class Guard:
    """The rules for one task.

    Args:
        policy: read from the operator files, asked for when the first effect needs it.
    """

    policy: Callable[[], Policy] = Policy
    _read: Policy | None = field(default=None, init=False, repr=False)

    def check(self, effect: Effect) -> Verdict:
        """May this effect leave? The first rule that says no decides."""
        if "path" in effect.args:
            return _path(effect)
        if "to" in effect.args:
            if self._read is None:
                self._read = self.policy()
            return _mail(effect, self._read)
        return Verdict(True, "no-rule-against-it")


def _path(effect: Effect) -> Verdict:
    path = effect.args["path"]
    if not isinstance(path, str) or not path.startswith(DRAFTS) or posixpath.normpath(path) != path:
        return Verdict(
            False, "write-only-under-drafts", f"files are written under {DRAFTS} alone, not {path!r:.80}"
        )
    return Verdict(True, "write-only-under-drafts")


def _mail(effect: Effect, policy: Policy) -> Verdict:
    to = effect.args["to"]
    text = " ".join(map(str, to)) if isinstance(to, list) else str(to)
    domains = {match.group(1).lower() for match in _ADDRESS.finditer(text)}
    if not domains:
        return Verdict(False, "recipient-is-an-address", f"no e-mail address in {text!r:.80}")
    if policy.mail_domains is None:
        outside = domains
    else:
        outside = {domain for domain in domains if not _within(domain, policy.mail_domains)}
        if outside:
            return Verdict(
                False, "recipient-domain", f"{', '.join(sorted(outside))}: not among the operator's domains"
            )
    if outside and (what := _personal(effect, text)):
        return Verdict(False, "personal-data-leaves", f"{what} in a message to {', '.join(sorted(outside))}")
    return Verdict(True, "recipient-domain")


def _within(domain: str, allowed: frozenset[str]) -> bool:
    return any(domain == name or domain.endswith(f".{name}") for name in allowed)


def _personal(effect: Effect, recipients: str) -> str | None:
    """Names the kind of personal data in a message's subject and body, None where there is none."""
    for name in ("subject", "body"):
        text = str(effect.args.get(name, ""))
        for kind, pattern in _PERSONAL.items():
            for match in pattern.finditer(text):
                if match.group() not in recipients:
                    return kind
    return None
