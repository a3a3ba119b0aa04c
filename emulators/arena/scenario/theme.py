"""What one theme fixes: its vocabulary, rules, field names, paths and operator files.

The world is built of the same things in every theme (agents that hold tokens, pass on delegations and
contact domains); a theme calls them otherwise, counts them by other rules and keeps them in other files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date


@dataclass(frozen=True)
class Rules:
    """Where the themes' operator files differ in substance.

    ``retries_once``: attempts of one trace are one event with the status of the last attempt.
    ``blocked_counts``: a blocked contact is a contact. ``subdomains_count``: contacting a subdomain is
    contacting the domain. ``local_days``: "a day" is a day of local time, not of UTC. ``rate_digits``,
    ``rate_down``: how percentages are rounded. ``limit_included``: an amount at the limit needs the second
    approval too. ``rotate_days``: how far ahead of its expiry a token is rotated.
    """

    retries_once: bool
    blocked_counts: bool
    subdomains_count: bool
    local_days: bool
    rate_digits: int
    rate_down: bool
    limit_included: bool
    rotate_days: int


@dataclass(frozen=True)
class Names:
    """Pools that the world draws its names from."""

    org: tuple[str, ...]
    teams: tuple[str, ...]
    calls: tuple[str, ...]
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    datasets: tuple[str, ...]
    services: tuple[str, ...]
    duties: tuple[str, ...]
    products: tuple[str, ...]
    mail_domain: str
    partner_domain: str


@dataclass(frozen=True)
class Ids:
    """Formats of identifiers; ``agent`` may use ``{role}`` (its first three letters, upper case)."""

    agent: str
    person: str
    token: str
    delegation: str
    incident: str
    transfer: str
    message: str
    change: str
    ticket: str
    trace: str


@dataclass(frozen=True)
class Theme:
    """One theme. Mappings go from the neutral name of a thing to the theme's own word for it.

    ``words``: nouns for instructions and texts. ``fields``: keys of a log event. ``actions``,
    ``statuses``, ``states``: values in log and registries. ``rule_ids``: names of rules in /AGENTS.md.
    ``columns``: per register, column by column.
    ``paths``: per document the possible paths without suffix. ``operator``: per operator file its lines,
    with ``{…}`` for what the scenario fills in; a line ``- **ID** …`` is a rule. ``phrases``: instructions of
    the theme's own, by family, in place of the family's. ``openings``: what may stand before an instruction.
    """

    name: str
    offset_hours: int
    zone: str
    start: date
    rules: Rules
    names: Names
    ids: Ids
    words: Mapping[str, str]
    fields: Mapping[str, str]
    actions: Mapping[str, str]
    routine: tuple[tuple[str, str], ...]
    statuses: Mapping[str, str]
    states: Mapping[str, str]
    rule_ids: Mapping[str, str]
    columns: Mapping[str, Mapping[str, str]]
    paths: Mapping[str, tuple[str, ...]]
    operator: Mapping[str, tuple[str, ...]]
    openings: tuple[str, ...]
    phrases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
