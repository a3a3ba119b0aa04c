"""What a rehearsal amounts to, and when a new one is due."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from producer.rehearsal import Rehearsal, fingerprint_of, judge, record, stage
from producer.summary import Failure, Summary
from shared.models import Kind, RunRequest
from shared.settings import Settings

REQUEST = RunRequest(kind=Kind.FINAL, solver="mine")


def settings(**values: object) -> Settings:
    return Settings.load(_env_file=None, **values)


def row(**values: object) -> Summary:
    fields = {
        "run_id": "run_1", "platform": "arena", "kind": "final", "solver": "mine", "status": "finished",
        "tasks_total": 3, "tasks_submitted": 3,
    }  # fmt: skip
    return Summary.model_validate({**fields, **values})


def books(*again: str) -> dict[str, object]:
    """The emulator's, with tasks that were submitted a second time."""
    return {"accounts": {"team-1": {"duplicate_submits": {f"run_1/{name}": 1 for name in again}}}}


@pytest.mark.parametrize(
    ("ended", "counted", "passes"),
    [
        (row(), books(), True),
        (row(tasks_submitted=2, failures=(Failure(task_id="t3", status="gave_up"),)), books(), True),
        (row(), books("t2"), False),
        (row(status="expired"), books(), False),
        (row(tasks_submitted=2, failures=(Failure(task_id="t3", status="solved"),)), books(), False),
        (row(tasks_submitted=0), books(), False),
    ],
)
def test_a_rehearsal_passes_where_all_that_was_solved_was_handed_in_once_and_in_time(
    ended: Summary, counted: dict[str, object], passes: bool
) -> None:
    assert judge(ended, counted)[0] is passes


@pytest.mark.parametrize("change", ["solver", "commit", "model", "task_seconds", "name"])
def test_another_solver_commit_or_setting_asks_for_a_new_rehearsal(change: str) -> None:
    before = fingerprint_of(settings(), REQUEST, "abc", "c0ffee")
    after = {
        "solver": fingerprint_of(settings(), REQUEST, "abd", "c0ffee"),
        "commit": fingerprint_of(settings(), REQUEST, "abc", "c0ffef"),
        "model": fingerprint_of(settings(model="other"), REQUEST, "abc", "c0ffee"),
        "task_seconds": fingerprint_of(
            settings(), REQUEST.model_copy(update={"task_seconds": 9.0}), "abc", "c0ffee"
        ),
        "name": fingerprint_of(settings(), REQUEST.model_copy(update={"solver": "his"}), "abc", "c0ffee"),
    }[change]
    assert before != after


def test_keys_and_addresses_of_the_pool_are_no_part_of_it() -> None:
    there = settings(redis_url="redis://x:1/0", arena_url="http://a/b", arena_key="arena_x")
    assert fingerprint_of(there, REQUEST, "a", "b") == fingerprint_of(settings(), REQUEST, "a", "b")


def test_the_last_record_is_read_back_and_a_damaged_one_is_none(tmp_path: Path) -> None:
    here = settings(data=tmp_path)
    assert Rehearsal.last(here) is None
    kept = record(True, "finished", "mark")
    kept.keep(here)
    assert Rehearsal.last(here) == kept
    (tmp_path / "rehearsal.json").write_text("{")
    assert Rehearsal.last(here) is None


def test_a_rehearsal_spends_the_dev_key_and_touches_no_pool_of_ours(tmp_path: Path) -> None:
    ours = settings(redis_url="redis://x:1/0", model_key="dev", eval_model_key="eval")
    there = stage(ours, tmp_path, "http://127.0.0.1:1/api/v1", "arena_emulated")
    assert there.eval_model_key == SecretStr("dev")
    assert (there.redis_url, there.broker_url, there.data) == (None, None, tmp_path)
