"""`scrimmage inspect` shows documents with their locators, trees, and rows with their citations."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from producer.cli.inspect import inspect
from shared.errors import UsageError

app = typer.Typer()
app.command()(inspect)

AGENTS = b"id,team\na-1,red\na-2,[bold]blue\x1b[31m\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet/agents.csv").write_bytes(AGENTS)
    (tmp_path / "AGENTS.md").write_text("# Rules\nBe kind.\n")
    return tmp_path


def run(*args: object) -> str:
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_file_is_shown_with_the_locator_of_each_block(folder: Path) -> None:
    shown = json.loads(run(folder / "fleet/agents.csv", "--json"))
    assert shown["format"] == "csv"
    assert [block["locator"] for block in shown["blocks"]] == ["", "record a-1", "record a-2"]
    assert shown["tables"] == [{"name": "", "columns": ["id", "team"], "rows": 2}]


def test_what_a_file_says_cannot_move_the_terminal_nor_pose_as_markup(folder: Path) -> None:
    shown = run(folder / "fleet/agents.csv")
    assert "\x1b" not in shown
    assert "[bold]blue" in shown
    described = run(folder, "--profile")
    assert "\x1b" not in described
    assert "[bold]blue" in described


def test_a_folder_is_shown_as_a_tree(folder: Path) -> None:
    shown = json.loads(run(folder, "--json"))
    assert [entry["path"] for entry in shown["entries"]] == ["/AGENTS.md", "/fleet", "/fleet/agents.csv"]
    assert "/fleet/agents.csv" in run(folder)


def test_one_file_of_a_folder_is_shown(folder: Path) -> None:
    assert "Be kind." in run(folder, "--path", "AGENTS.md")
    with pytest.raises(UsageError, match=r"did you mean /AGENTS\.md"):
        run(folder, "--path", "/AGENT.md")


def test_the_rows_of_a_query_are_shown_with_their_sources(folder: Path) -> None:
    shown = json.loads(run(folder, "--sql", "select team from agents where id = 'a-1'", "--json"))
    assert shown["rows"] == [["red"]]
    assert shown["sources"] == [[{"path": "/fleet/agents.csv", "record": "a-1"}]]
    assert "/fleet/agents.csv a-1" in run(folder, "--sql", "select team from agents where id = 'a-1'")


def test_the_tables_are_described(folder: Path) -> None:
    assert "agents (/fleet/agents.csv; 2 rows)" in run(folder, "--profile")


def test_a_wrong_query_is_a_usage_error(folder: Path) -> None:
    with pytest.raises(UsageError, match="no relation"):
        run(folder, "--sql", "select * from nothing")


def test_an_unreadable_file_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"no workbook")
    assert json.loads(run(tmp_path / "a.xlsx", "--json"))["unreadable"]


def test_an_empty_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="empty folder"):
        run(tmp_path)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "archive"
    sha, gone = hashlib.sha256(AGENTS).hexdigest(), "0" * 64
    (root / "files" / sha[:2]).mkdir(parents=True)
    (root / "files" / sha[:2] / sha).write_bytes(AGENTS)
    run_folder = root / "arena" / "run_x"
    run_folder.mkdir(parents=True)
    (run_folder / "run.json").write_text(json.dumps({"ref": "arena:run_x"}))
    (run_folder / "manifest.json").write_text(
        json.dumps({"t01": {"/fleet/agents.csv": sha, "/lost.md": gone}, "t02": {"/lost.md": gone}})
    )
    monkeypatch.setenv("SCRIMMAGE_ARCHIVE", str(root))
    return root


@pytest.mark.usefixtures("archive")
def test_a_task_of_an_archived_run_is_shown_from_the_kept_files() -> None:
    shown = json.loads(run("run_x", "t01", "--path", "/fleet/agents.csv", "--json"))
    assert shown["blocks"][1]["locator"] == "record a-1"


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run_x",), "name a task of arena:run_x that has files: t01, t02"),
        (("run_x", "t99"), "name a task"),
        (("run_x", "t02"), "no file of task t02 was archived"),
        (("run_y", "t01"), "run_y"),
    ],
)
def test_a_wrong_run_or_task_says_what_there_is(args: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(*args)
