"""What reaches the terminal, however narrow it is and whatever it can show."""

from __future__ import annotations

import io
import json
import sys

import pytest

from producer.cli import output

ROWS = [("run_1", 549597067, "baseline", "30/30", "0.267"), ("run_2", 1, "agent", "30/30", None)]
COLUMNS = ("run", "seed", "solver", "tasks", "accuracy")


def printed(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setattr(output.results, "width", width)
    output.table(COLUMNS, ROWS)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_table_fits_a_usual_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(80, monkeypatch, capsys) == [
        "run    seed       solver    tasks  accuracy",
        "run_1  549597067  baseline  30/30  0.267",
        "run_2  1          agent     30/30  -",
    ]


def test_in_a_narrow_terminal_every_cell_has_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(30, monkeypatch, capsys)[:6] == [
        "run       run_1",
        "seed      549597067",
        "solver    baseline",
        "tasks     30/30",
        "accuracy  0.267",
        "",
    ]


def test_brackets_of_paths_and_reasons_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    output.say("log /tmp/[b]/x [/y]")
    output.print_text("[red]x[/red] \x1b[2J")
    said = capsys.readouterr()
    assert said.err == "log /tmp/[b]/x [/y]\n"
    assert said.out == "[red]x[/red] [2J\n"


def test_a_stream_that_cannot_show_a_character_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    output.prepare_streams()
    output.print_text("tasks · ✓")
    output.print_json({"name": "Grüße \ud800"})
    stream.flush()
    text, told = raw.getvalue().decode().splitlines()
    assert text == "tasks ? ?"
    assert json.loads(told) == {"name": "Grüße \ud800", "exit_code": 0}


@pytest.mark.parametrize("name", ["Förster & Co", "Fo\u0308rster  & Co ", "\u202eFörster\u200b & Co\n"])
def test_a_name_counts_as_it_can_be_typed(name: str) -> None:
    assert output.typed(name) == "Förster & Co"
