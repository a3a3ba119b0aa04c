"""Decides whether an effect may leave. Every decision names its rule.

The rules that are built in hold everywhere; the operator files of a workspace narrow them (``policy``). Other
text of a workspace is data: nothing in it widens what the guard allows.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from shared.models import Effect
from workers.policy import Policy

DRAFTS = "/drafts/"

_ADDRESS = re.compile(r"[\w.+-]+@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)")
_PERSONAL = {
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
        if self._read is None:
            self._read = self.policy()
        if "path" in effect.args:
            return _file(effect, self._read)
        if "to" in effect.args:
            return _mail(effect, self._read)
        return Verdict(True, "no-rule-against-it")


def _file(effect: Effect, policy: Policy) -> Verdict:
    path = effect.args["path"]
    if not isinstance(path, str) or not path.startswith(DRAFTS) or posixpath.normpath(path) != path:
        return Verdict(
            False, "write-only-under-drafts", f"files are written under {DRAFTS} alone, not {path!r:.80}"
        )
    if policy.personal_stays and (what := _personal(effect, policy, "")):
        return Verdict(False, "personal-data-stays", f"{what} in {path}")
    return Verdict(True, "write-only-under-drafts")


def _mail(effect: Effect, policy: Policy) -> Verdict:
    to = effect.args["to"]
    recipients = " ".join(map(str, to)) if isinstance(to, list) else str(to)
    domains = {match.group(1).lower() for match in _ADDRESS.finditer(recipients)}
    if not domains:
        return Verdict(False, "recipient-is-an-address", f"no e-mail address in {recipients!r:.80}")
    outside = {domain for domain in domains if not _vouched_for(domain, policy)}
    if outside and policy.mail_domains is not None:
        return Verdict(
            False, "recipient-domain", f"{', '.join(sorted(outside))}: not among the operator's domains"
        )
    if (outside or policy.personal_stays) and (what := _personal(effect, policy, recipients)):
        return Verdict(False, "personal-data-stays", f"{what} in a message to {recipients:.80}")
    return Verdict(True, "recipient-domain")


def _vouched_for(domain: str, policy: Policy) -> bool:
    return any(domain == name or domain.endswith(f".{name}") for name in policy.mail_domains or ())


def _personal(effect: Effect, policy: Policy, recipients: str) -> str | None:
    """Names the kind of personal data in an outgoing text, None where there is none."""
    for name in ("subject", "body", "content"):
        text = str(effect.args.get(name, ""))
        for match in _ADDRESS.finditer(text):
            if match.group() not in recipients and not _vouched_for(match.group(1).lower(), policy):
                return "a private e-mail address"
        for kind, pattern in _PERSONAL.items():
            if pattern.search(text):
                return kind
    return None
