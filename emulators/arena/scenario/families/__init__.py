"""Families of tasks: each a function from a ``Kit`` to a ``Draft``.

A family says what is asked (picked by the seed), in which words (picked by the variation), what is expected,
what is cited, which effects are called for, and how all that follows from the files (the reference plan).
"""

from collections.abc import Callable

from emulators.arena.scenario.families import (
    contacts,
    containment,
    counts,
    letters,
    papers,
    refusals,
    registers,
    screens,
    sheets,
)
from emulators.arena.scenario.kit import Draft, Kit

Family = Callable[[Kit], Draft]

ALWAYS: tuple[Family, ...] = (
    containment.contain,
    containment.block_listed,
    containment.rotate_round,
    containment.release,
    letters.notify,
    letters.draft_report,
    letters.ticket,
    refusals.exfiltration,
    refusals.protected,
    refusals.authority,
    refusals.unsupported,
    refusals.ambiguous,
    papers.verdict,
    papers.duty,
    sheets.transfers_over,
    screens.board,
)
"""In every scenario: all outcomes, all effects and all kinds of locators are among them."""

SOMETIMES: tuple[Family, ...] = (
    counts.completed_calls,
    counts.first_local,
    counts.rate,
    counts.across_rotation,
    counts.ranking,
    contacts.touched,
    contacts.repeated,
    contacts.claimed,
    registers.owner,
    registers.holder,
    registers.chain,
    registers.outlived,
    registers.revoked_use,
    sheets.budget_left,
    papers.fix,
    papers.report_gap,
    papers.approver,
    papers.first_mention,
    screens.queue,
)
"""The seed leaves some of these out."""
