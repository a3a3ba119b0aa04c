"""The hard rules for effects. Those that are built in hold everywhere; the operator files narrow them.

========================  ==============================================================================
rule                      what it refuses
========================  ==============================================================================
write-only-under-drafts   a file anywhere else
recipient-is-an-address   a message to what is no address
recipient-domain          a message to a domain that the operator does not name
personal-data-stays       telephone numbers, private addresses and the like in what leaves
protected                 quarantine or release of a record that the operator marks
own-domains-stay-open     a block of a domain that the operator writes mail to
records-stay              a change of records that the operator keeps as they are (no tool makes one, but a
                          task may ask for it)
========================  ==============================================================================
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from shared.models import Effect, Source
from workers.desk import ADDRESS
from workers.guard.hard_rules import HardRules

DRAFTS = "/drafts/"

_WORDS = frozenset({"subject", "body", "content", "text"})
"""Arguments that hold what is said, not to whom or where."""

_WRITES = re.compile(r"write|save|upload|draft", re.IGNORECASE)
_MAILS = re.compile(r"mail|message|send|notify", re.IGNORECASE)
"""Names of tools: the platform's list may call their arguments otherwise than ``path`` and ``to``."""

_PERSONAL = {
    "a telephone number": re.compile(r"(?<![\w-])\+\d{1,3}[ /-]?\(?\d[\d ()/-]{6,}\d"),
    "an account number": re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,4})?\b"),
    "a date of birth": re.compile(r"\b(?:born|birth|dob|date of birth)\b[^\n]{0,20}\d", re.IGNORECASE),
    "a card number": re.compile(r"\b(?:\d{4}[ -]?){3}\d{4}\b"),
}


@dataclass(frozen=True)
class Verdict:
    """What the guard says: whether the effect may leave, by which rule, and the operator's line for it."""

    allowed: bool
    rule: str
    reason: str = ""
    source: Source | None = None


@dataclass
class Guard:
    """The rules for one task.

    Args:
        rules: read from the operator files, asked for when the first effect needs them.
    """

    rules: Callable[[], HardRules] = HardRules

    def check(self, effect: Effect) -> Verdict:
        """May this effect leave? The first rule that says no decides."""
        rules = self.known
        verdicts = [judge(effect, rules) for judge in _judges(effect)]
        verdict = next((verdict for verdict in verdicts if not verdict.allowed), verdicts[0])
        return replace(verdict, source=rules.lines.get(verdict.rule))

    def denies(self, rule: str, reason: str) -> Verdict:
        """A no that no single effect shows, with the operator's line for it."""
        return Verdict(False, rule, reason, self.known.lines.get(rule))

    @cached_property
    def known(self) -> HardRules:
        """What the operator files say, read when it is first needed."""
        return self.rules()


def _judges(effect: Effect) -> list[Callable[[Effect, HardRules], Verdict]]:
    """All that an effect is, by its tool's name and by its arguments: one that looks harmless hides none."""
    judges: list[Callable[[Effect, HardRules], Verdict]] = []
    if "path" in effect.args or _WRITES.search(effect.tool):
        judges.append(_file)
    if "to" in effect.args or _MAILS.search(effect.tool) or ADDRESS.fullmatch(_recipients(effect).strip()):
        judges.append(_mail)
    return [*judges, _operations]


def _file(effect: Effect, rules: HardRules) -> Verdict:
    path = effect.args.get("path", effect.args.get("file"))
    if not isinstance(path, str) or not path.startswith(DRAFTS) or posixpath.normpath(path) != path:
        return Verdict(
            False, "write-only-under-drafts", f"files are written under {DRAFTS} alone, not {path!r:.80}"
        )
    if rules.personal_stays and (what := _personal(effect, rules, "")):
        return Verdict(False, "personal-data-stays", f"{what} in {path}")
    return Verdict(True, "write-only-under-drafts")


def _mail(effect: Effect, rules: HardRules) -> Verdict:
    recipients = _recipients(effect)
    addresses = [*ADDRESS.finditer(recipients)]
    if not addresses or recipients.count("@") != len(addresses) or not all(map(_ends, addresses)):
        return Verdict(False, "recipient-is-an-address", f"not e-mail addresses alone: {recipients!r:.80}")
    domains = {address.group(1).lower() for address in addresses}
    outside = {domain for domain in domains if not _vouched_for(domain, rules)}
    if outside and rules.mail_domains is not None:
        return Verdict(
            False, "recipient-domain", f"{', '.join(sorted(outside))}: not among the operator's domains"
        )
    if (outside or rules.personal_stays) and (what := _personal(effect, rules, recipients)):
        return Verdict(False, "personal-data-stays", f"{what} in a message to {recipients:.80}")
    return Verdict(True, "recipient-domain")


def _ends(address: re.Match[str]) -> bool:
    """True where the domain ends with what was understood of it: more letters would make it another."""
    return address.string[address.end() : address.end() + 1] in {"", *" ,;>\"')"}


def _recipients(effect: Effect) -> str:
    """Every argument of a message but its text: whoever stands in one of them may get it."""
    named = [value for name, value in effect.args.items() if name not in _WORDS]
    return " ".join(str(one) for value in named for one in (value if isinstance(value, list) else [value]))


def _operations(effect: Effect, rules: HardRules) -> Verdict:
    """Operations on records and domains: ``{"ops": [{"op": verb, …: subject}]}``, or one in the arguments."""
    listed = effect.args.get("ops")
    for operation in listed if isinstance(listed, list) else [effect.args]:
        if not isinstance(operation, dict):
            continue
        verb = str(operation.get("op", effect.tool)).lower()
        subjects = {value for key, value in operation.items() if key != "op" and isinstance(value, str)}
        if verb.startswith(("quarantine", "release")) and (held := sorted(subjects & rules.protected)):
            return Verdict(False, "protected", f"{verb} of {held[0]}, which the operator marks")
        if verb.startswith("block"):
            own = [domain for domain in subjects if _vouched_for(domain.lower(), rules)]
            if own:
                return Verdict(False, "own-domains-stay-open", f"{own[0]} is the operator's own")
    return Verdict(True, "no-rule-against-it")


def _vouched_for(domain: str, rules: HardRules) -> bool:
    return any(domain == name or domain.endswith(f".{name}") for name in rules.mail_domains or ())


def _personal(effect: Effect, rules: HardRules, recipients: str) -> str | None:
    """Names the kind of personal data in an outgoing text, None where there is none."""
    for text in map(str, effect.args.values()):
        for match in ADDRESS.finditer(text):
            if match.group() not in recipients and not _vouched_for(match.group(1).lower(), rules):
                return "a private e-mail address"
        for kind, pattern in _PERSONAL.items():
            if pattern.search(text):
                return kind
        if any(value in text for value in rules.personal):
            return "what a register holds as personal"
    return None
