"""What a scenario is, once built: files by hash, tasks with everything that grading needs, feed answers.

A *scenario* follows from ``(theme, seed, variation)`` alone and is the same, byte for byte, in every
process. ``seed`` decides what is true (names, numbers, answers), ``variation`` how it looks (wording, file
names and formats, noise, order). Nothing in here changes after ``build``; what a client does to a task
lives in ``effects.TaskState``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue

from shared.models import Effect, JsonObject, Source


class Outcome(StrEnum):
    """The four outcomes of a task (Harness Arena Task API v1, "Submitting")."""

    OK = "OK"
    DENIED = "DENIED_SECURITY"
    CLARIFY = "NEEDS_CLARIFICATION"
    UNSUPPORTED = "UNSUPPORTED"


class Compare(StrEnum):
    """How an answer is compared with the expected one; see ``scoring`` for the exact rules."""

    EXACT = "exact"
    NUMBER = "number"
    ORDERED = "ordered list"
    SET = "unordered list"
    OBJECT = "object"


@dataclass(frozen=True)
class AnswerRule:
    """How to compare an answer. ``keys`` holds one rule per key of an object, each with equal weight."""

    compare: Compare = Compare.EXACT
    tolerance: float = 0.0
    keys: Mapping[str, AnswerRule] = field(default_factory=dict)


@dataclass(frozen=True)
class Required:
    """One effect that a task wants, as data.

    ``tool`` is ``containment``, ``send_message`` or ``write``. For containment ``match`` is one operation
    (``{"op": "revoke", "token": "TOK-…"}``); for a message ``{"to": address}``; for a file ``{"path": …}``.
    ``contains`` are texts that subject and body, or the file, must hold (compared without case).
    """

    tool: str
    match: JsonObject
    contains: tuple[str, ...] = ()


@dataclass(frozen=True)
class Constraints:
    """What a task's effects must and must not be; broken constraints make the task's score 0.

    Every element of ``required`` must have been done. Anything that is in neither ``required`` nor
    ``optional`` is forbidden, so the empty value means "no effects at all". A note beside a required
    containment operation is always allowed. ``personal`` are texts that must appear in no message and no
    draft; ``mail_domains`` are the only ones that mail may go to.
    """

    required: tuple[Required, ...] = ()
    optional: tuple[Required, ...] = ()
    personal: tuple[str, ...] = ()
    mail_domains: tuple[str, ...] = ()


NO_EFFECTS = Constraints()


@dataclass(frozen=True)
class Step:
    """One step of a reference plan; its result goes by ``name``.

    ===========  ==========================================================================================
    kind         args
    ===========  ==========================================================================================
    ``rule``     ``path``, ``id``: the rule of an operator file that the next steps apply; no result.
                 ``cite``: its line is a source
    ``sql``      ``query`` (DuckDB's SQL) over ``tables``: alias → ``{path, sheet?}``. Columns are called as
                 in the file, plus ``_path``, ``_line``, ``_record``, ``_sheet``, ``_row``. The alias
                 ``events`` needs no entry: all log events, with ``time`` (UTC), ``agent``, ``action``,
                 ``target``, ``trace``, and their other fields. ``shape`` of the result: ``value`` (one cell),
                 ``list`` (first column), ``object`` (one row), ``none``. ``cite``: ``all`` rows of the
                 result, by their locator columns (a second locator has the suffix ``_2``), or its ``ends``
                 (first and last) are sources of the task
    ``find``     ``path``, ``pattern``: group 1 of the first block of the document that matches; with ``all``
                 of every match, as a list. ``cite``: the blocks (page, paragraph, line) are sources
    ``look``     the same over the text that is seen in the image ``path``
    ``tool``     ``tool``, ``args``: a read-only tool; ``take``: key of its result; ``cite``: its edges
                 (``access_path``) are sources
    ``given``    ``value``: follows from the instruction and the rules named before
    ===========  ==========================================================================================
    """

    kind: str
    args: JsonObject
    name: str = ""


@dataclass(frozen=True)
class Plan:
    """How a task's answer follows from its files: the reference, never shown to a client.

    ``answer`` is JSON in which a string ``"$name"`` stands for the result of that step. Steps may use
    results of earlier ones in the same way, inside their texts as ``{$name}`` (a list as SQL texts).
    """

    steps: tuple[Step, ...]
    answer: JsonValue = None
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True)
class ScenarioTask:
    """One task: what a client sees, and what it is graded by.

    ``expected_sources`` are the citations wanted; ``alternatives`` (same length) lists for each the other
    locators that are just as right. ``files`` maps each path of the initial workspace to its sha256.
    """

    task_id: str
    family: str
    level: int
    instruction: str
    files: Mapping[str, str]
    expected_outcome: Outcome
    expected_answer: JsonValue
    answer_rule: AnswerRule
    expected_sources: tuple[Source, ...]
    alternatives: tuple[tuple[Source, ...], ...]
    constraints: Constraints
    reference: Plan


@dataclass(frozen=True)
class Scenario:
    """A whole scenario. ``threat_intel`` maps an indicator (lower case) to the feed's answer.

    ``containment_path`` names the workspace file that holds the containment state, ``agents`` and
    ``tokens`` the ids that it may speak of; ``image_texts`` says what is written in each image, by sha256
    (for a stand-in model that has no eyes).
    """

    theme: str
    seed: int
    variation: int
    blobs: Mapping[str, bytes]
    tasks: tuple[ScenarioTask, ...]
    threat_intel: Mapping[str, JsonObject]
    containment_path: str
    agents: frozenset[str]
    tokens: frozenset[str]
    mail_domains: tuple[str, ...]
    image_texts: Mapping[str, str]
