"""What `run`, `sweep` and `resume` print when runs are over, and when they break off."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import typer

from producer.archive import Archive
from producer.cli.scorecard import account, print_rows, print_runs, show, tell
from producer.interrupt import Interrupted
from producer.summary import Failure, Summary
from producer.sweeps import Sweep
from shared.errors import NotAuthorised, ScrimmageError, Unavailable
from shared.models import RunRef

ROW = Summary(
    run_id="run_1",
    platform="toy",
    kind="dev",
    solver="mine",
    status="finished",
    tasks_total=3,
    tasks_submitted=3,
    accuracy=0.5,
)
NO_KEY = NotAuthorised("no such key", status=401)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path)


@pytest.fixture
def asked_for_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["scrimmage", "run", "--json"])


def test_where_all_is_refused_stdout_is_left_to_the_error(
    archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NotAuthorised):
        tell(Sweep(total=1, refused=[NO_KEY]))
    assert capsys.readouterr().out == ""


def test_what_was_refused_or_not_kept_stands_beside_what_was_played(
    archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    full = ScrimmageError("the disk is full")
    with pytest.raises(typer.Exit) as ended:
        tell(Sweep(total=2, done=[ROW], refused=[NO_KEY], unkept=[full]))
    told = json.loads(capsys.readouterr().out)
    assert [row["run_id"] for row in told["runs"]] == ["run_1"]
    assert (told["refused"], told["unkept"]) == (["no such key"], ["the disk is full"])
    assert told["exit_code"] == ended.value.exit_code == 1


def test_failures_of_one_reason_are_one_line_and_no_markup(
    archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    failures = [
        Failure(task_id="t01", status="gave_up", reason="boom [/x] \x1b[2J"),
        Failure(task_id="t02", status="queued"),
        Failure(task_id="t03", status="gave_up", reason="boom [/x] \x1b[2J"),
    ]
    row = ROW.model_copy(update={"tasks_submitted": 0, "failures": tuple(failures)})
    with pytest.raises(typer.Exit):
        show(Sweep(total=1, done=[row]), archive)
    assert capsys.readouterr().err.splitlines() == [
        "toy:run_1 t01, t03: gave_up, boom [/x] [2J",
        "toy:run_1 t02: queued, not tried",
    ]


def test_several_runs_are_summed_up_by_solver(archive: Archive, capsys: pytest.CaptureFixture[str]) -> None:
    other = ROW.model_copy(update={"run_id": "run_2", "accuracy": 0.7})
    show(Sweep(total=2, done=[ROW, other]), archive)
    assert capsys.readouterr().out.splitlines()[-1].split() == ["mine", "2", "0.600", "-"]


def test_scores_that_come_later_are_said_to_and_how_to_get_them(
    archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = archive.folder(ROW.ref)
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    print_runs([ROW.model_copy(update={"accuracy": None})], archive)
    said = capsys.readouterr()
    assert "scrimmage refresh run_1 fetches them" in said.err
    assert "level" not in said.out, "a table of dashes says nothing"


def test_the_status_is_shown_where_a_run_did_not_finish(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([ROW])
    assert "status" not in capsys.readouterr().out
    print_rows([ROW, ROW.model_copy(update={"status": "expired"})])
    assert "expired" in capsys.readouterr().out


@pytest.mark.usefixtures("asked_for_json")
@pytest.mark.parametrize(
    ("error", "code"), [(Interrupted(), 130), (Unavailable("the arena is away"), 1), (NO_KEY, 3)]
)
def test_a_script_learns_what_is_over_and_what_in_flight_when_a_command_breaks_off(
    error: ScrimmageError | Interrupted, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def play() -> None:
        with account(json=True) as played:
            played.done.append(ROW)
            played.flying[RunRef(platform="toy", run_id="run_2")] = None
            raise error

    with pytest.raises(SystemExit) as ended:
        play()
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert [row["run_id"] for row in told["runs"]] == ["run_1"]
    assert told["in_flight"] == ["toy:run_2"]
    assert told["kind"] == type(error).__name__
    assert told["exit_code"] == ended.value.code == code
    assert "`scrimmage resume` goes on" in said.err


def test_an_interrupt_before_anything_was_begun_promises_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), account(json=False):
        raise Interrupted
    assert capsys.readouterr().err == "interrupted\n"
