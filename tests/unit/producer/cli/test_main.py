"""How a command ends: one message, one code, and one JSON object where that was asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from producer.cli import main
from producer.cli.output import prepare_streams
from producer.interrupt import Interrupted
from shared.errors import Conflict, NotAuthorised


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder without settings; nothing of them in the environment either."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("SCRIMMAGE_")]:
        monkeypatch.delenv(name)
    yield tmp_path
    structlog.reset_defaults()


@pytest.fixture
def scrimmage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[object, str, str]:
        """Exit code, stdout, stderr."""
        monkeypatch.setattr(sys, "argv", ["scrimmage", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.run()
        return (ended.value.code or 0, *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--nonsense"), "No such option: --nonsense (Possible options: --seed)"),
        (("run", "--budget", "0"), "'--budget': Input should be greater than or equal to 1"),
        (("final", "--model-cache"), "No such option: --model-cache"),
        (("nonsense",), "No such command 'nonsense'"),
        (("show",), "Missing argument 'RUN'"),
        (("show", "run_x"), "run 'run_x' is not in the archive"),
        (("run", "--platform", "moon"), "no platform is called 'moon'; known: arena"),
        (("run", "--solver", "nobody"), "no solver is called 'nobody'; known: agent, baseline"),
        (("final", "--solver", "nobody"), "no solver is called 'nobody'"),
        (("run", "--option", "tasks"), "--option 'tasks': expected name=value"),
        (("run", "--seed", str(2**53)), "seed 9007199254740992: at most 9007199254740991"),
        (("sweep", "--seeds", "1,x"), "--seeds '1,x': expected whole numbers"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_started(
    arguments: tuple[str, ...], words: str, scrimmage: Any, folder: Path
) -> None:
    code, out, err = scrimmage(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    code, out, err = scrimmage(*arguments, "--json")
    told = json.loads(out)
    assert words in told["error"]
    assert told["exit_code"] == code == 2
    assert not (folder / ".scrimmage").exists()


def test_a_solver_whose_module_is_nowhere_is_named_before_anything_is_started(
    scrimmage: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIMMAGE_SOLVERS", "mine=my_package.solver:Mine")
    code, _, err = scrimmage("run", "--solver", "mine")
    assert code == 2
    assert "there is no module 'my_package'" in err
    assert not (folder / ".scrimmage").exists()


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (Interrupted(), 130, "interrupted"),
        (NotAuthorised("invalid API key", status=401), 3, "refused: invalid API key; `scrimmage doctor`"),
        (Conflict("there is one already", status=409), 3, "refused: there is one already"),
        (ZeroDivisionError("by zero"), 1, "ZeroDivisionError: by zero"),
    ],
)
def test_every_end_has_its_code_and_its_object(
    error: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def app(**_: object) -> None:
        raise error

    monkeypatch.setattr(main, "app", app)
    monkeypatch.setattr(sys, "argv", ["scrimmage", "run", "--json"])
    with pytest.raises((SystemExit, ZeroDivisionError)):
        main.run()
    told = json.loads(capsys.readouterr().out)
    assert words in told["error"]
    assert told["exit_code"] == code


def test_help_ends_well_and_names_the_exit_codes(scrimmage: Any) -> None:
    code, out, _ = scrimmage("--help")
    assert code == 0
    assert "Exit codes: 0 done" in out


def test_warnings_of_what_lies_below_keep_stdout_clean(capsys: pytest.CaptureFixture[str]) -> None:
    prepare_streams()
    structlog.get_logger("pool").warning("redis.away")
    told = capsys.readouterr()
    assert told.out == ""
    assert "redis.away" in told.err
