"""What `run` and `sweep` print when runs are over."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import structlog
import typer

from producer.cli.output import logs_to_stderr
from producer.cli.play import show
from producer.summary import Summary
from producer.sweeps import Sweep
from shared.errors import NotAuthorised

ROW = Summary(
    run_id="run_1",
    platform="toy",
    kind="dev",
    solver="mine",
    status="finished",
    tasks_total=2,
    tasks_submitted=2,
)


@pytest.fixture
def logging() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_where_all_is_refused_stdout_is_left_to_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NotAuthorised):
        show(Sweep(total=1, refused=[NotAuthorised("no such key", status=401)]), json=True)
    assert capsys.readouterr().out == ""


def test_what_was_refused_stands_beside_what_was_played(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        show(Sweep(total=2, done=[ROW], refused=[NotAuthorised("no such key", status=401)]), json=True)
    assert ended.value.exit_code == 1
    told = json.loads(capsys.readouterr().out)
    assert [row["run_id"] for row in told["runs"]] == ["run_1"]
    assert told["refused"] == ["no such key"]


@pytest.mark.usefixtures("logging")
def test_warnings_of_what_lies_below_keep_stdout_clean(capsys: pytest.CaptureFixture[str]) -> None:
    logs_to_stderr()
    structlog.get_logger("pool").warning("redis.away")
    told = capsys.readouterr()
    assert told.out == ""
    assert "redis.away" in told.err
