"""Each choice where the text is silent, as a client meets it."""

from dataclasses import fields
from email.utils import parsedate_to_datetime

import pytest

from emulators.arena.choices import Choices
from tests.support.arena import LOG


@pytest.fixture
def chosen(stage):
    """Makes an emulator with these choices."""

    def make(**choices):
        return stage(choices=Choices(**choices))

    return make


def ended(arena):
    run = arena.run()["run_id"]
    arena.post(f"/runs/{run}/finish")
    return run


def test_create_status(chosen):
    assert [chosen(create_status=status).post("/runs").status_code for status in (200, 201)] == [200, 201]


@pytest.mark.parametrize(
    ("seeds", "statuses"),
    [("any", [200, 200, 200]), ("small", [200, 400, 400]), ("refused", [400, 400, 400])],
)
def test_seeds(chosen, seeds, statuses):
    arena = chosen(seeds=seeds)
    answers = [arena.post("/runs", {"seed": seed}) for seed in (7, 2**40, -7)]
    assert [answer.status_code for answer in answers] == statuses
    assert all("seed" in answer.json()["error"] for answer in answers if answer.status_code == 400)
    assert arena.post("/runs").status_code == 200


def test_final_seed_shown(chosen):
    hidden, shown = (chosen(final_seed_shown=choice).run(kind="final") for choice in (False, True))
    assert {"seed", "variation"} & set(hidden) == set()
    assert {"seed", "variation"} <= set(shown)


def test_check_order(chosen):
    statuses = []
    for order in ("state", "body"):
        arena = chosen(check_order=order)
        run = ended(arena)
        statuses.append(
            [
                arena.call("POST", f"/runs/{run}/tasks/t01/{end}", content=b"{").status_code
                for end in ("submit", "tools/read")
            ]
        )
    assert statuses == [[409, 409], [400, 400]]


def test_empty_body(chosen):
    statuses = []
    for choice in ("object", "refused"):
        arena = chosen(empty_body=choice)
        run = arena.run()["run_id"]
        statuses.append(
            [
                arena.call("POST", path).status_code
                for path in ("/runs", f"/runs/{run}/tasks/t01/tools/tree", f"/runs/{run}/finish")
            ]
        )
    assert statuses == [[200, 200, 200], [400, 400, 200]]


@pytest.mark.parametrize("status", [200, 400, 404])
def test_unknown_tool(chosen, status):
    arena = chosen(unknown_tool=status)
    run = arena.run()["run_id"]
    answer = arena.tool(run, "t01", "telepathy")
    assert answer.status_code == status
    assert "telepathy" in answer.json()["error"]
    assert answer.json().get("ok") is (False if status == 200 else None)


@pytest.mark.parametrize(
    ("choice", "status", "ok"), [("error", 200, False), ("ignored", 200, True), (400, 400, None)]
)
def test_unknown_argument(chosen, choice, status, ok):
    arena = chosen(unknown_argument=choice)
    run = arena.run()["run_id"]
    for name, args in [("read", {"path": "/AGENTS.md"}), ("threat_intel", {"indicator": "x.test"})]:
        answer = arena.tool(run, "t01", name, colour="red", **args)
        assert answer.status_code == status
        assert answer.json().get("ok") is ok


@pytest.mark.parametrize("counted", [True, False])
def test_failed_calls_count(chosen, counted):
    arena = chosen(failed_calls_count=counted)
    run = arena.run()["run_id"]
    arena.tool(run, "t01", "tree")
    arena.tool(run, "t01", "read", path="/nowhere")
    assert arena.get(f"/runs/{run}").json()["tasks"][0]["tool_calls"] == 1 + counted


def test_result_shape(chosen):
    results = {}
    for shape in ("plain", "wrapped", "renamed", "text"):
        arena = chosen(result_shape=shape)
        run = arena.run()["run_id"]
        results[shape] = arena.tool(run, "t01", "read", path="/reports/long.txt", end_line=1).json()["result"]
    assert results["plain"]["text"] == "line 1"
    assert results["wrapped"]["data"] == results["plain"]
    assert results["renamed"]["content"] == "line 1"
    assert results["renamed"]["file"] == "/reports/long.txt"
    assert "text" not in results["renamed"]
    assert isinstance(results["text"], str)


def test_until_inclusive(chosen):
    lines = []
    for inclusive in (True, False):
        arena = chosen(until_inclusive=inclusive)
        run = arena.run()["run_id"]
        found = arena.tool(run, "t01", "query_logs", until="2026-11-14T09:03:00Z").json()["result"]
        lines.append([(event["file"], event["line"]) for event in found["events"]])
    assert lines == [[(LOG, line) for line in (1, 2, 3, 4)], [(LOG, line) for line in (1, 2, 3)]]


def test_wrong_hint(chosen):
    statuses = []
    for choice in ("refused", "searched"):
        arena = chosen(wrong_hint=choice)
        run = arena.run()["run_id"]
        manifest = arena.get(f"/runs/{run}/manifest").json()
        sha = manifest["tasks"][0]["files"]["/inbox/only-t01.md"]
        statuses.append(
            [
                arena.get(f"/runs/{run}/blobs/{sha}", params={"task": task}).status_code
                for task in ("t01", "t02", "t99")
            ]
        )
    assert statuses == [[200, 404, 404], [200, 200, 200]]


@pytest.mark.parametrize(("answering", "status"), [(False, 409), (True, 200)])
def test_manifests_after_end(chosen, answering, status):
    arena = chosen(manifests_after_end=answering)
    run = arena.run()["run_id"]
    arena.tool(run, "t01", "write", path="/drafts/a.md", content="x")
    paths = [f"/runs/{run}/manifest", f"/runs/{run}/tasks/t01/manifest"]
    before = [arena.get(path).json() for path in paths]
    arena.post(f"/runs/{run}/finish")
    after = [arena.get(path) for path in paths]
    assert [answer.status_code for answer in after] == [status] * 2
    if answering:
        assert [answer.json() for answer in after] == before
    assert arena.get(f"/runs/{run}/tasks/t01/files/AGENTS.md").status_code == 409


@pytest.mark.parametrize("status", [200, 409])
def test_finish_on_expired(chosen, status):
    arena = chosen(finish_on_expired=status)
    run = arena.run(kind="final")["run_id"]
    arena.clock.advance(1800)
    answer = arena.post(f"/runs/{run}/finish")
    assert answer.status_code == status
    if status == 200:
        assert (answer.json()["received"], answer.json()["status"]) == (True, "expired")


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_runs_order(chosen, order):
    arena = chosen(runs_order=order)
    runs = [arena.run()["run_id"] for _ in range(3)]
    listed = [run["run_id"] for run in arena.get("/runs").json()["runs"]]
    assert listed == (runs if order == "oldest" else runs[::-1])


def test_runs_page(chosen):
    arena = chosen(runs_page=2)
    runs = [arena.run()["run_id"] for _ in range(5)]
    found, cursor, pages = [], None, 0
    while pages == 0 or cursor:
        page = arena.get("/runs", params={"cursor": cursor} if cursor else {}).json()
        found += [run["run_id"] for run in page["runs"]]
        cursor, pages = page["next_cursor"], pages + 1
    assert found == runs[::-1]
    assert pages == 3
    assert arena.get("/runs", params={"cursor": "x"}).status_code == 400


def test_retry_after(chosen):
    arena = chosen(retry_after="date")
    refused = [arena.get("/me") for _ in range(101)][-1]
    assert refused.status_code == 429
    wait = parsedate_to_datetime(refused.headers["retry-after"]) - parsedate_to_datetime(
        refused.headers["date"]
    )
    assert wait.total_seconds() == 1


def test_envelope(chosen):
    arena = chosen(envelope="data")
    assert list(arena.get("/me").json()) == ["data"]
    assert set(arena.get("/runs/none").json()) == {"error"}


def test_extra_fields(chosen):
    arena = chosen(extra_fields=True)
    run = arena.run()
    assert run["api_revision"] == 3
    assert all("_links" in task for task in run["tasks"])


def test_nulls(chosen):
    run = chosen(nulls="left out").run()
    assert "deadline_at" not in run


def test_clock_skew(stage):
    plain, ahead = stage(), stage(choices=Choices(clock_skew=120), skew=120)
    dates = [parsedate_to_datetime(arena.get("/me").headers["date"]) for arena in (plain, ahead)]
    assert (dates[1] - dates[0]).total_seconds() == 120
    deadlines = [arena.run(kind="final")["deadline_at"] for arena in (plain, ahead)]
    assert deadlines[0] != deadlines[1]


def test_every_choice_is_shown_here():
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {field.name for field in fields(Choices)} <= tests
