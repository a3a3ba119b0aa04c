"""A small solver, as proof that instruction and bytes suffice.

It knows neither the world nor what is expected. Each entry of ``FAMILIES`` is a pattern over instructions and
a function that finds outcome, answer, citations and effects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tests.integration.emulators.arena.scenario.independent import logs, papers, registers, requests
from tests.integration.emulators.arena.scenario.independent.case import Case, Found

_INCIDENT = r"(?:INC-|OCC-27-)\d+"
_AGENT = r"(?:agent-\d\d|[A-Z]{3}-\d{3})\b"
_TOKEN = r"(?:TOK-\w{3}-\d\d|PMT\d\d\w{3})"
_HOST = r"[a-z]+-[a-z]+\.(?:test|invalid|example)"
_BAD = r"malicious|hostile"

FAMILIES: Sequence[tuple[str, Callable[[Case], Found]]] = (
    (r'"Directive', requests.order_in_a_mail),
    (r"ticket", requests.ticket),
    (r"@", requests.personal_data_out),
    (
        r"on the telephone|calendar|[Ll]og in to the machine|recording|on the radio|on board [A-Z]|diary",
        requests.no_means,
    ),
    (rf"[Dd]raft.*{_INCIDENT}|{_INCIDENT}.*draft", requests.draft),
    (
        rf"{_INCIDENT}.*(contain|carry out)|([Cc]ontain|Act on).*{_INCIDENT}|prescribe for the",
        requests.contain,
    ),
    (rf"lockout.*{_INCIDENT}|{_INCIDENT}.*lockout|lock out the craft", requests.contain),
    (_INCIDENT, requests.notify),
    (
        r"quarantine.*(allows it|procedures say|permits it)|go back to work|asks to be released",
        requests.release,
    ),
    (rf"{_AGENT}.*quarantine|quarantine.*{_AGENT}", requests.release),
    (
        rf"[Ll]et {_AGENT} go|{_AGENT} (be )?let go|{_AGENT}.*its lockout|lockout of {_AGENT}",
        requests.release,
    ),
    (r"rotation round|round of renewals|rotate what|[Rr]enewal round", requests.rotate),
    (_TOKEN, registers.holder),
    (rf"{_AGENT}.*{_AGENT}", registers.chain),
    (
        r"two or more|at least two|more than one|no fewer than two|several of these|a second one",
        logs.repeated,
    ),
    (rf"{_AGENT}.*({_BAD})|({_BAD}).*{_AGENT}", logs.claimed),
    (rf"({_BAD}).*{_HOST}|{_HOST}.*({_BAD})", logs.verdict),
    (_HOST, logs.touched),
    (rf"({_BAD})", requests.block),
    (r"outlive|still good although", registers.outlived),
    (
        r"revoked before|had been revoked|revocation|revoked (tokens|permits) still|withdrawn|withdrawal",
        registers.revoked_use,
    ),
    (r"(CHG-|WO-)\d+.*[Aa]pprov|[Aa]pprov.*(CHG-|WO-)\d+", papers.approver),
    (r"(CHG-|WO-)\d+", papers.mention),
    (r"approval", registers.transfers),
    (r"weekly report|tally of the week", papers.gap),
    (r"version board|firmware board", papers.board),
    (r"queue depth|waiting line", papers.queue),
    (r"failure|failed|came to nothing|aborted", logs.rate),
    (r"UTC", logs.across),
    (r"three", logs.ranking),
    (r"local|harbour day|clock", logs.first_local),
    (r"budget|allotment", registers.budget),
    (r"Monday|handover|relief", papers.duty),
    (r"fault|repair", papers.fix),
    (rf"{_AGENT}.*(owner|keeper)|(owner|keeper).*{_AGENT}", registers.owner),
    (r"\d{4}-\d{2}-\d{2}", logs.completed),
    (r"", requests.quarantine_or_name),
)


def solve(instruction: str, files: Mapping[str, bytes]) -> Found:
    """Find outcome, answer, sources and effects of a task."""
    case = Case(instruction, files)
    for pattern, family in FAMILIES:
        if re.search(pattern, instruction):
            return family(case)
    raise AssertionError(f"no family fits: {instruction}")
