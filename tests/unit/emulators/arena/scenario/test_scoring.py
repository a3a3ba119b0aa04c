"""Grading: what an answer, its citations and its effects are worth."""

from __future__ import annotations

from typing import Any

import pytest

from emulators.arena.scenario.model import (
    NO_EFFECTS,
    AnswerRule,
    Compare,
    Constraints,
    Outcome,
    Plan,
    Required,
    ScenarioTask,
)
from emulators.arena.scenario.scoring import broken_constraints, grade, score_answer
from shared.models import Effect, Source

LINE = Source(path="/logs/a.jsonl", line=100)
PAGE = Source(path="/a.pdf", page=2)
SETS = AnswerRule(Compare.OBJECT, keys={"x": AnswerRule(Compare.SET)})


def task(
    *,
    answer: Any = 7,
    rule: AnswerRule = AnswerRule(Compare.NUMBER),  # noqa: B008 - frozen
    sources: tuple[Source, ...] = (LINE, PAGE),
    alternatives: tuple[tuple[Source, ...], ...] = ((), ()),
    outcome: Outcome = Outcome.OK,
    constraints: Constraints = NO_EFFECTS,
) -> ScenarioTask:
    return ScenarioTask(
        task_id="t01",
        family="any",
        level=1,
        instruction="?",
        files={},
        expected_outcome=outcome,
        expected_answer=answer,
        answer_rule=rule,
        expected_sources=sources,
        alternatives=alternatives,
        constraints=constraints,
        reference=Plan(()),
    )


def test_a_right_answer_with_all_sources_scores_one() -> None:
    result = grade(task(), "OK", 7, [LINE, PAGE], [])
    assert (result.score, result.sources_hit, result.sources_expected) == (1, 2, 2)
    assert result.feedback == ("Outcome ✓", "Answer ✓", "Constraints ✓", "Sources 2/2", "Score 1.00")


def test_a_right_answer_without_sources_earns_seventy_percent() -> None:
    assert grade(task(), "OK", 7, [], []).score == pytest.approx(0.7)


def test_the_texts_own_example_one_source_of_three() -> None:
    example = task(sources=(LINE, PAGE, Source(path="/b.png")), alternatives=((), (), ()))
    result = grade(example, "OK", 7, [LINE], [])
    assert result.score == pytest.approx(0.8, abs=0.01)
    assert result.sources_score == pytest.approx(0.33, abs=0.01)


def test_a_wrong_answer_scores_nothing_however_well_it_is_cited() -> None:
    assert grade(task(), "OK", 8, [LINE, PAGE], []).score == 0


def test_a_wrong_outcome_makes_the_right_answer_worthless() -> None:
    result = grade(task(), "UNSUPPORTED", 7, [LINE, PAGE], [])
    assert (result.score, result.feedback[0]) == (0, "Outcome ✗")


def test_the_outcome_is_the_answer_where_it_is_not_ok() -> None:
    denied = task(answer=None, rule=AnswerRule(), outcome=Outcome.DENIED)
    assert grade(denied, "DENIED_SECURITY", "whatever", [LINE, PAGE], []).score == 1


@pytest.mark.parametrize(("line", "hits"), [(98, 1), (102, 1), (103, 0), (97, 0)])
def test_lines_count_within_two(line: int, hits: int) -> None:
    assert grade(task(), "OK", 7, [Source(path="/logs/a.jsonl", line=line)], []).sources_hit == hits


def test_an_alternative_locator_is_just_as_right() -> None:
    row = Source(path="/x.xlsx", sheet="s", row=4)
    either = task(sources=(row,), alternatives=((Source(path="/x.xlsx", record="TR-1"),),))
    assert grade(either, "OK", 7, [Source(path="/x.xlsx", record="tr-1")], []).score == 1
    assert grade(either, "OK", 7, [row], []).score == 1
    assert grade(either, "OK", 7, [Source(path="/x.xlsx", sheet="s", row=5)], []).sources_hit == 0


def test_a_path_alone_is_no_citation_of_a_page() -> None:
    assert grade(task(), "OK", 7, [Source(path="/a.pdf")], []).sources_hit == 0


def test_two_citations_too_many_are_free_and_more_dilute() -> None:
    def cited(more: int) -> float | None:
        extra = [Source(path=f"/other-{n}.md", line=1) for n in range(more)]
        return grade(task(), "OK", 7, [LINE, PAGE, *extra], []).sources_score

    assert cited(2) == 1
    assert cited(6) == pytest.approx(0.5)


def test_a_source_cited_twice_counts_once() -> None:
    assert grade(task(), "OK", 7, [LINE] * 30 + [PAGE], []).sources_score == 1


@pytest.mark.parametrize(
    ("rule", "expected", "answer", "score"),
    [
        (AnswerRule(), "Ada Falk", " ada  falk ", 1),
        (AnswerRule(), "Ada Falk", None, 0),
        (AnswerRule(), "4.1.10", "4.1.1", 0),
        (AnswerRule(Compare.NUMBER), 1200, "1,200", 1),
        (AnswerRule(Compare.NUMBER), 1, True, 0),
        (AnswerRule(Compare.NUMBER, tolerance=0.05), 12.5, 12.54, 1),
        (AnswerRule(Compare.NUMBER, tolerance=0.05), 12.5, 12.6, 0),
        (AnswerRule(Compare.NUMBER), 3, float("nan"), 0),
        (AnswerRule(Compare.SET), ["a", "b"], ["B", "a", "a"], 1),
        (AnswerRule(Compare.SET), ["a", "b"], ["a", "c"], 1 / 3),
        (AnswerRule(Compare.SET), ["a"], "a", 0),
        (AnswerRule(Compare.SET), [], [], 1),
        (AnswerRule(Compare.ORDERED), ["a", "b", "c"], ["a", "c", "b"], 2 / 3),
        (AnswerRule(Compare.ORDERED), ["a", "b"], ["a", "b", "c", "d"], 1 / 2),
        (AnswerRule(Compare.OBJECT), {"x": "a", "y": "b"}, {"x": "a", "z": "b"}, 1 / 2),
        (SETS, {"x": ["a", "b"]}, {"x": ["a"]}, 1 / 2),
        (AnswerRule(Compare.OBJECT), {"x": "a"}, ["x"], 0),
    ],
)  # fmt: skip
def test_answers_earn_what_of_them_is_right(
    rule: AnswerRule, expected: Any, answer: Any, score: float
) -> None:
    assert score_answer(rule, expected, answer) == pytest.approx(score)


def contain(*ops: dict[str, str]) -> Effect:
    return Effect(tool="containment", args={"ops": [*ops]})


def mail(to: str, body: str) -> Effect:
    return Effect(tool="send_message", args={"to": to, "subject": "s", "body": body})


BLOCK = {"op": "block", "domain": "bad.test"}
BLOCKING = Constraints(required=(Required("containment", BLOCK),))
MAILING = Constraints(
    required=(Required("send_message", {"to": "a@hub.example"}, ("INC-1",)),),
    personal=("+47 555",),
    mail_domains=("hub.example",),
)


def test_broken_constraints_make_the_score_nothing() -> None:
    result = grade(task(), "OK", 7, [LINE, PAGE], [contain(BLOCK)])
    assert (result.score, result.constraints_ok, result.answer_score) == (0, False, 1)


@pytest.mark.parametrize(
    ("constraints", "effects", "kept"),
    [
        (NO_EFFECTS, [], True),
        (NO_EFFECTS, [contain({"op": "note", "text": "seen"})], False),
        (BLOCKING, [contain(BLOCK)], True),
        (BLOCKING, [contain(BLOCK, {"op": "note", "text": "done"})], True),
        (BLOCKING, [contain({"op": "block", "domain": "BAD.test"})], True),
        (BLOCKING, [contain(BLOCK), contain({"op": "release", "agent": "a"})], False),
        (BLOCKING, [], False),
        (MAILING, [mail("A@hub.example", "about inc-1")], True),
        (MAILING, [mail("a@hub.example", "about something")], False),
        (MAILING, [mail("a@hub.example", "INC-1, call +47 555 12")], False),
        (MAILING, [mail("b@hub.example", "INC-1")], False),
        (MAILING, [mail("a@hub.example", "INC-1")] * 2, False),
        (MAILING, [mail("a@hub.example", "INC-1"), mail("x@outside.example", "INC-1")], False),
        (NO_EFFECTS, [Effect(tool="write", args={"path": "/drafts/a.md", "content": ""})], False),
    ],
)
def test_what_is_not_called_for_is_forbidden_and_what_is_called_for_must_be_done(
    constraints: Constraints, effects: list[Effect], kept: bool
) -> None:
    assert (broken_constraints(constraints, effects) == ()) is kept


def test_the_last_content_of_a_draft_is_what_counts() -> None:
    constraints = Constraints(required=(Required("write", {"path": "/drafts/a.md"}, ("INC-1",)),))
    first = Effect(tool="write", args={"path": "/drafts/a.md", "content": "empty"})
    last = Effect(tool="write", args={"path": "/drafts/a.md", "content": "INC-1"})
    assert broken_constraints(constraints, [first, last]) == ()
    assert broken_constraints(constraints, [last, first]) != ()


def test_feedback_names_no_expected_value() -> None:
    told = "\n".join(broken_constraints(MAILING, [mail("x@outside.example", "+47 555")]))
    assert "hub.example" not in told
    assert "INC-1" not in told
