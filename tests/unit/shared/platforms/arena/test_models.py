from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models import Kind
from shared.platforms.arena.manifests import Manifest, TaskManifest
from shared.platforms.arena.models import Me, RunFields, Runs, RunSummary, Submitted, ToolAnswer, Tools
from shared.platforms.arena.wire import Wire

SHA = "ab" * 32
SUMMARY = {
    "run_id": "run_x1Y2z3",
    "kind": "dev",
    "theme": "hub",
    "seed": 123456,
    "variation": 98765,
    "status": "finished",
    "started_at": "2026-11-14T09:00:00Z",
    "deadline_at": None,
    "finished_at": "2026-11-14T09:10:00Z",
    "cost_usd": 0.0123,
    "accuracy": 0.62,
    "cost_score": 0.84,
    "final_score": 0.57,
}
MODELS: list[type[Wire]] = [
    Me,
    Tools,
    ToolAnswer,
    Submitted,
    RunFields,
    RunSummary,
    Runs,
    TaskManifest,
    Manifest,
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = sorted({name for model in MODELS for name in model.model_fields} | {"data", "run", "grade", "files"})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@given(data=JSON | st.dictionaries(st.sampled_from(NAMES), JSON, max_size=8))
def test_whatever_comes_is_read_or_called_malformed(model: type[Wire], data: Any) -> None:
    try:
        read = model.read(data)
    except ValueError:
        return
    if isinstance(read, RunSummary):
        read.run(Kind.DEV, 0.0)
        read.view(0.0)
    if isinstance(read, RunFields):
        read.scorecard()
    if isinstance(read, Submitted):
        read.grade()
    if isinstance(read, Manifest):
        read.by_task()
        read.sizes()


def test_the_summary_of_the_text_is_read_whole() -> None:
    card = RunSummary.read(SUMMARY).scorecard()

    assert (card.status, card.accuracy, card.cost_usd, card.cost_score, card.final_score) == (
        "finished",
        0.62,
        0.0123,
        0.84,
        0.57,
    )


@pytest.mark.parametrize(
    "wrap",
    [
        lambda run: run,
        lambda run: {"data": run},
        lambda run: {"run": run, "request_id": "r-1"},
        lambda run: {"ok": True, "result": run},
        lambda run: run | {"new_field": {"deep": [1]}},
    ],
)
def test_an_envelope_and_unknown_fields_do_not_matter(wrap: Any) -> None:
    tasks = [{"task_id": "t01", "instruction": "Count.", "level": 1, "submitted": True, "tool_calls": 4}]
    read = RunSummary.read(wrap(SUMMARY | {"tasks": tasks}))

    assert read.run(Kind.DEV, 0.0).tasks[0].instruction == "Count."
    assert read.view(0.0).tasks["t01"].tool_calls == 4


def test_tasks_beside_an_enveloped_summary_are_found() -> None:
    read = RunSummary.read({"run": SUMMARY, "tasks": [{"task_id": "t01"}]})
    assert [task.task_id for task in read.tasks] == ["t01"]


def test_fields_of_another_type_are_unknown_and_the_rest_stands() -> None:
    odd = SUMMARY | {"seed": "abc", "accuracy": "n/a", "started_at": "yesterday", "cost_usd": float("nan")}
    read = RunSummary.read(odd)

    assert (read.seed, read.accuracy, read.started_at, read.cost_usd) == (None, None, None, None)
    assert read.final_score == 0.57


def test_items_without_an_id_are_left_out() -> None:
    runs = Runs.read({"runs": [SUMMARY, None, {"kind": "dev"}, {"run_id": "../../etc"}, 5]})
    assert [run.run_id for run in runs.runs] == ["run_x1Y2z3"]


@pytest.mark.parametrize("task_id", ["t01", "Task 001", "T-003/x", "aufgabe_ü", "a:b", 17])
def test_a_task_id_of_any_form_is_kept(task_id: Any) -> None:
    read = RunSummary.read(SUMMARY | {"tasks": [{"task_id": task_id}, {"task_id": "a|b"}, {"task_id": "\n"}]})
    assert [task.task_id for task in read.tasks] == [str(task_id)]


@pytest.mark.parametrize("data", [[SUMMARY], {"runs": [SUMMARY]}, {"data": {"runs": [SUMMARY]}}])
def test_runs_are_found_bare_or_named(data: Any) -> None:
    assert len(Runs.read(data).runs) == 1


@pytest.mark.parametrize(
    ("data", "score"),
    [
        ({"received": True, "task_id": "t03", "score": 0.79, "feedback": ["Outcome ✓"]}, 0.79),
        ({"received": True, "grade": {"score": 0.5}}, 0.5),
        ({"score": 0.25}, 0.25),
        ({"received": True, "task_id": "t03"}, None),
        ({"received": True}, None),
    ],
)
def test_a_submission_is_acknowledged_with_or_without_a_grade(data: Any, score: float | None) -> None:
    grade = Submitted.read(data).grade()
    assert (grade.score if grade else None) == score


@pytest.mark.parametrize("data", [{}, {"received": False, "task_id": "t03"}, {"ok": True}, [], None])
def test_what_acknowledges_nothing_is_no_receipt(data: Any) -> None:
    with pytest.raises(ValueError, match=r"received|valid dictionary"):
        Submitted.read(data)


@pytest.mark.parametrize(
    "tasks",
    [
        [{"task_id": "t01", "files": {"/AGENTS.md": SHA, "/odd": "no hash"}}],
        [{"task_id": "t01", "files": [{"path": "/AGENTS.md", "sha256": SHA}, {"path": "/x"}]}],
    ],
)
def test_a_manifest_is_read_in_either_form(tasks: Any) -> None:
    manifest = Manifest.read({"blobs": [{"sha256": SHA, "size": 5}, {"size": 1}], "tasks": tasks})
    assert manifest.by_task() == {"t01": {"/AGENTS.md": SHA}}
    assert manifest.sizes() == {SHA: 5}


def test_a_malformed_answer_names_the_field_and_what_the_server_said() -> None:
    with pytest.raises(ValueError, match=r"run_id: Field required \(it says: overloaded\)"):
        RunSummary.read({"error": "overloaded"})


@pytest.mark.parametrize("status", ["finished", "expired", None])
def test_expected_answers_are_revealed(status: str | None) -> None:
    task = {
        "task_id": "t01",
        "expected_outcome": "OK",
        "expected_answer": {"n": 1},
        "expected_sources": [{"path": "/a", "line": 3}, "odd"],
        "submission": {"answer": 2},
        "grade": {"score": 0.0, "answer_score": 0.0},
    }
    card = RunFields.read({"status": status, "tasks": [task, {"task_id": "t02"}]}).scorecard()

    (reveal,) = card.reveals
    assert reveal.expected_answer == {"n": 1}
    assert reveal.expected_sources == ({"path": "/a", "line": 3},)
    assert reveal.grade is not None
    assert reveal.grade.answer_score == 0.0


def test_the_time_left_is_measured_by_the_servers_clock_and_never_flattering() -> None:
    read = RunSummary.read(SUMMARY | {"deadline_at": "2026-11-14T09:30:00", "status": "active"})
    nine = 1794646800.0

    assert read.run(Kind.FINAL, nine).seconds_left == 1799.0
    assert read.view(nine + 3600).seconds_left == 0.0
    assert RunSummary.read(SUMMARY).run(Kind.DEV, nine).seconds_left is None
