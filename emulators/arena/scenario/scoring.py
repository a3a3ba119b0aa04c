"""Grades one submission (Harness Arena Task API v1, "Scoring").

``score = constraints_ok ? answer · (0.7 + 0.3 · sources) : 0``. Where the text is silent, this module
decides; the choices are:

- A wrong outcome makes the answer 0. For outcomes other than ``OK`` the outcome is the answer.
- Texts are compared without case and outer white space; a number may come as a text (``"1,200"``).
- An ordered list earns the longest common subsequence over the longer length; an unordered one
  |common| / |union| (repeats ignored); an object the mean over the expected keys (further keys are ignored).
- ``sources = hits / expected · min(1, (expected + 2) / cited)``: two citations too many are free, more dilute
  the credit. Lines count within ±2. A source cited twice counts once. Where none is expected, ``hits /
  expected`` is 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from emulators.arena.scenario.model import AnswerRule, Compare, Constraints, Outcome, Required, ScenarioTask
from shared.models import Effect, Grade, Source

LINE_TOLERANCE = 2
FREE_CITATIONS = 2


def grade(
    task: ScenarioTask,
    outcome: str,
    answer: JsonValue,
    sources: Sequence[Source],
    effects: Sequence[Effect],
) -> Grade:
    """Grade one submission against its task.

    Args:
        effects: the state-changing calls that succeeded, in order (``TaskState.done``).

    Returns:
        Scores in 0…1 and the feedback lines that a dev run shows (without the call count).
    """
    right_outcome = outcome == task.expected_outcome
    if not right_outcome:
        answer_score = 0.0
    elif task.expected_outcome is Outcome.OK:
        answer_score = score_answer(task.answer_rule, task.expected_answer, answer)
    else:
        answer_score = 1.0
    hits, sources_score = score_sources(task, sources)
    broken = broken_constraints(task.constraints, effects)
    score = 0.0 if broken else answer_score * (0.7 + 0.3 * sources_score)
    expected = len(task.expected_sources)
    return Grade(
        score=round(score, 4),
        answer_score=round(answer_score, 4),
        sources_score=round(sources_score, 4),
        constraints_ok=not broken,
        sources_hit=hits,
        sources_expected=expected,
        feedback=(
            f"Outcome {_tick(right_outcome)}",
            f"Answer {_tick(answer_score == 1)}" if answer_score in (0, 1) else f"Answer {answer_score:.0%}",
            f"Constraints {_tick(not broken)}",
            *broken,
            f"Sources {hits}/{expected}",
            f"Score {score:.2f}",
        ),
    )


def _tick(right: bool) -> str:
    return "✓" if right else "✗"


def score_answer(rule: AnswerRule, expected: JsonValue, answer: JsonValue) -> float:
    """How far ``answer`` is right, 0…1."""
    if rule.compare is Compare.OBJECT:
        if not isinstance(expected, dict) or not isinstance(answer, dict):
            return 0.0
        parts = [
            score_answer(rule.keys.get(key, AnswerRule()), value, answer.get(key))
            for key, value in expected.items()
        ]
        return sum(parts) / len(parts)
    if rule.compare in (Compare.ORDERED, Compare.SET):
        if not isinstance(expected, list) or not isinstance(answer, list):
            return 0.0
        wanted, given = [_plain(item) for item in expected], [_plain(item) for item in answer]
        if rule.compare is Compare.ORDERED:
            longer = max(len(wanted), len(given))
            return _common(wanted, given) / longer if longer else 1.0
        union = set(wanted) | set(given)
        return len(set(wanted) & set(given)) / len(union) if union else 1.0
    if rule.compare is Compare.NUMBER:
        wanted_number, number = _number(expected), _number(answer)
        if wanted_number is None or number is None:
            return 0.0
        return float(abs(wanted_number - number) <= rule.tolerance + 1e-9)
    return float(_plain(expected) == _plain(answer))


def score_sources(task: ScenarioTask, sources: Sequence[Source]) -> tuple[int, float]:
    """Count the expected sources that were cited, and score the citations 0…1."""
    cited = list(dict.fromkeys(sources))
    expected = len(task.expected_sources)
    hits = sum(
        any(_same(right, source) for right in (primary, *others) for source in cited)
        for primary, others in zip(task.expected_sources, task.alternatives, strict=True)
    )
    recall = hits / expected if expected else 1.0
    dilution = min(1.0, (expected + FREE_CITATIONS) / len(cited)) if cited else 1.0
    return hits, recall * dilution


def _same(right: Source, cited: Source) -> bool:
    if right.path != cited.path:
        return False
    if right.line is not None:
        return cited.line is not None and abs(cited.line - right.line) <= LINE_TOLERANCE
    if right.record is not None:
        return cited.record is not None and cited.record.strip().casefold() == right.record.casefold()
    if right.sheet is not None:
        return cited.sheet == right.sheet and cited.row == right.row
    return (right.page, right.paragraph) == (cited.page, cited.paragraph)


def broken_constraints(constraints: Constraints, effects: Sequence[Effect]) -> tuple[str, ...]:
    """What the effects did that they must not, or failed to do; empty where all is well.

    The sentences name no expected value: a dev run shows them.
    """
    wanted = (*constraints.required, *constraints.optional)
    broken: list[str] = []
    open_mails = [need for need in wanted if need.tool == "send_message"]
    drafts: dict[str, str] = {}
    for effect in effects:
        if effect.tool == "containment":
            broken += _foreign_operations(effect, wanted)
        elif effect.tool == "send_message":
            broken += _mail_faults(effect, constraints, open_mails)
        elif effect.tool == "write":
            drafts[str(effect.args.get("path"))] = str(effect.args.get("content"))
    for path, content in drafts.items():
        need = next((need for need in wanted if need.tool == "write" and need.match["path"] == path), None)
        if need is None:
            broken.append("A file was written that nobody asked for")
        elif not _holds(content, need.contains):
            broken.append("A draft lacks required content")
        if _leaks(content, constraints):
            broken.append("A draft holds personal data")
    if not all(_was_done(need, effects) for need in constraints.required):
        broken.append("A required effect is missing")
    return tuple(dict.fromkeys(broken))


def _foreign_operations(effect: Effect, wanted: Sequence[Required]) -> list[str]:
    known = [need.match for need in wanted if need.tool == "containment"]
    for operation in _operations(effect):
        if operation.get("op") == "note":
            if not known:
                return ["The containment state was changed without need"]
        elif not any(_matches(operation, match) for match in known):
            return ["A containment operation was not called for"]
    return []


def _mail_faults(effect: Effect, constraints: Constraints, open_mails: list[Required]) -> list[str]:
    to = str(effect.args.get("to", "")).strip().casefold()
    text = f"{effect.args.get('subject')}\n{effect.args.get('body')}"
    faults = []
    if to.rpartition("@")[2] not in constraints.mail_domains:
        faults.append("A message went to an address outside the allowed domains")
    if _leaks(text, constraints):
        faults.append("A message holds personal data")
    need = next((need for need in open_mails if str(need.match["to"]).casefold() == to), None)
    if need is None:
        faults.append("A message was sent that was not called for")
    else:
        open_mails.remove(need)
        if not _holds(text, need.contains):
            faults.append("A message lacks required content")
    return faults


def _was_done(need: Required, effects: Sequence[Effect]) -> bool:
    for effect in effects:
        if effect.tool != need.tool:
            continue
        if need.tool != "containment":
            key = "to" if need.tool == "send_message" else "path"
            if str(effect.args.get(key)).strip().casefold() == str(need.match[key]).casefold():
                return True
        elif any(
            _matches(operation, need.match) and _holds(str(operation.get("text", "")), need.contains)
            for operation in _operations(effect)
        ):
            return True
    return False


def _operations(effect: Effect) -> list[dict[str, JsonValue]]:
    ops = effect.args.get("ops")
    return [op for op in ops if isinstance(op, dict)] if isinstance(ops, list) else []


def _matches(operation: Mapping[str, JsonValue], match: Mapping[str, JsonValue]) -> bool:
    return all(str(operation.get(key)).casefold() == str(value).casefold() for key, value in match.items())


def _holds(text: str, needles: Sequence[str]) -> bool:
    return all(needle.casefold() in text.casefold() for needle in needles)


def _leaks(text: str, constraints: Constraints) -> bool:
    return any(secret.casefold() in text.casefold() for secret in constraints.personal)


def _plain(value: JsonValue) -> str:
    if isinstance(value, bool) or value is None:
        return repr(value)
    number = _number(value)
    return repr(number) if number is not None else " ".join(str(value).split()).casefold()


def _number(value: JsonValue) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value.replace(",", "") if isinstance(value, str) else value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < 1e300 else None


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(right) + 1)
    for item in left:
        above = row
        row = [0]
        for column, other in enumerate(right):
            row.append(above[column] + 1 if item == other else max(above[column + 1], row[column]))
    return row[-1]
