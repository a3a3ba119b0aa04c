"""`run`, `sweep`, `status`, `show` and Flower on a pool that `up` keeps running."""

from __future__ import annotations

import base64
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Playground
from tests.support.playing import wait_for


@pytest.fixture(scope="module")
def row(playground: Playground) -> dict[str, Any]:
    """What the command tells of a run by `careful`, on files that the pool has not seen yet."""
    ended = playground.terminal.run("run", "--solver", "careful", "--seed", "77", "--json")
    assert ended.code == 0, ended.err
    (row,) = ended.json["runs"]
    return dict(row)


def test_a_run_submits_every_task_once_within_the_limit(playground: Playground, row: dict[str, Any]) -> None:
    assert row["status"] == "finished"
    assert row["tasks_submitted"] == row["tasks_total"] == 30
    assert row["failures"] == []
    books = playground.emulator.books()["accounts"]["team-1"]
    mine = {name: count for name, count in books["submits"].items() if name.startswith(row["run_id"] + "/")}
    assert len(mine) == 30
    assert set(mine.values()) == {1}
    assert books["requests_by_run"][row["run_id"]] <= row["requests"]


def test_a_cold_run_costs_no_more_requests_than_promised(playground: Playground, row: dict[str, Any]) -> None:
    archived = playground.terminal.folder / "archive" / "arena" / row["run_id"]
    listing = json.loads((archived / "manifest.json").read_text())
    shared = set.intersection(*(set(paths.values()) for paths in listing.values()))
    owners = sum(bool(set(paths.values()) - shared) for paths in listing.values())
    effects = 10
    assert row["requests"] <= 33 + 2 * effects + 1 + owners


def test_a_sweep_compares_solvers_on_the_same_seeds(playground: Playground) -> None:
    ended = playground.terminal.run(
        "sweep", "--seeds", "5,6", "--solver", "empty", "--solver", "careful", "--in-flight", "4", "--json"
    )
    assert ended.code == 0, ended.err
    rows = ended.json["runs"]
    assert sorted((row["seed"], row["solver"]) for row in rows) == [
        (5, "careful"), (5, "empty"), (6, "careful"), (6, "empty"),
    ]  # fmt: skip
    assert len({row["sweep"] for row in rows}) == 1


def test_a_platform_that_nobody_knows_plays_through_the_same_commands(playground: Playground) -> None:
    ended = playground.terminal.run(
        "run", "--platform", "toy", "--solver", "patient", "--option", "tasks=9", "--json"
    )
    assert ended.code == 0, ended.err
    (row,) = ended.json["runs"]
    assert (row["platform"], row["tasks_submitted"], row["accuracy"]) == ("toy", 9, 1.0)


def test_a_bad_solver_fails_its_tasks_and_no_others(playground: Playground) -> None:
    solvers = [word for name in ("raising", "rubbish", "nothing") for word in ("--solver", name)]
    ended = playground.terminal.run(
        "sweep", "--runs", "1", *solvers, "--platform", "toy", "--option", "tasks=5", "--json"
    )
    assert ended.code == 1, ended.err
    rows = {row["solver"]: row for row in ended.json["runs"]}
    assert {solver: len(row["failures"]) for solver, row in rows.items()} == {
        "raising": 1, "rubbish": 5, "nothing": 5,
    }  # fmt: skip
    for row in rows.values():
        assert row["status"] == "finished"
        assert len(row["failures"]) + row["tasks_submitted"] == 5
        assert all(failure["status"] == "gave_up" and failure["reason"] for failure in row["failures"])


def test_flower_shows_thirty_solves_and_a_finish_with_readable_arguments(
    playground: Playground, row: dict[str, Any]
) -> None:
    def shown(name: str) -> list[dict[str, Any]]:
        tasks = _flower(playground, "/api/tasks?limit=5000").values()
        return [task for task in tasks if task["name"] == name and row["run_id"] in (task["args"] or "")]

    wait_for(lambda: len(shown("scrimmage.solve")) == 30, 20, "Flower sees the solves")
    wait_for(lambda: len(shown("scrimmage.finish")) >= 1, 20, "Flower sees the finish")
    assert any(task["args"] == f"arena {row['run_id']} t07 careful" for task in shown("scrimmage.solve"))
    assert playground.emulator.key not in json.dumps(_flower(playground, "/api/tasks?limit=5000"))


def test_show_sets_what_was_submitted_beside_what_was_expected(
    playground: Playground, row: dict[str, Any]
) -> None:
    run = playground.terminal.run("show", row["run_id"])
    assert run.code == 0, run.err
    assert "t30" in run.out
    task = playground.terminal.run("show", row["run_id"], "t03", "--json").json["task"]
    assert task["solution"]["outcome"] == "OK"
    assert task["reveal"]["expected_outcome"]
    assert task["effects"][0]["ok"] is True
    text = playground.terminal.run("show", row["run_id"], "t03")
    assert "expected" in text.out
    assert "/drafts/t03.md" in text.out


def test_status_says_what_is_held_and_what_would_be_done(playground: Playground) -> None:
    gate = Path(playground.terminal.variables["TOY_GATE"])
    running = playground.terminal.start(
        "run", "--platform", "toy", "--solver", "gated", "--option", "tasks=5"
    )
    try:
        running.wait_for_text("solved ")
        rows = playground.terminal.run("status", "--json").json["runs"]
        (held,) = (row for row in rows if row["here"] == "solving")
        assert held["plan"].startswith("workers play it")
        assert "submitted" in held["there"]
    finally:
        gate.touch()
        ended = running.ended()
    assert ended.code == 0, ended.err


def test_doctor_names_settings_and_their_origin_and_hides_keys(playground: Playground) -> None:
    ended = playground.terminal.run("doctor", "--json")
    assert ended.code == 0, ended.out
    settings = {row["name"]: row for row in ended.json["settings"]}
    assert settings["arena_key"]["from"] == "environment SCRIMMAGE_ARENA_KEY"
    assert playground.emulator.key not in ended.out + ended.err
    assert all(check["ok"] is not False for check in ended.json["checks"])


def _flower(playground: Playground, path: str) -> dict[str, Any]:
    token = base64.b64encode(f"scrimmage:{playground.flower_password}".encode()).decode()
    request = urllib.request.Request(playground.flower + path, headers={"Authorization": f"Basic {token}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
