"""What must hold beside the text: bounded memory, one start at a time, scenarios built again."""

import concurrent.futures
import io
import threading
import zipfile

import pytest

from tests.support.arena import tiny


def test_two_starts_of_a_final_run_at_once_give_one(stage):
    arena = stage()
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(lambda _: arena.post("/runs", {"kind": "final"}).status_code, range(6)))
    assert sorted(statuses) == [200] + [409] * 5


def test_a_final_run_whose_scenario_fails_is_not_used_up(stage):
    failing = [True]

    def build(*key):
        if failing[0]:
            raise ZeroDivisionError
        return tiny(*key)

    arena = stage(build=build)
    assert arena.post("/runs", {"kind": "final"}).status_code == 500
    failing[0] = False
    assert arena.post("/runs", {"kind": "final"}).status_code == 200


def test_others_are_served_while_a_scenario_is_built(stage):
    entered, go_on = threading.Event(), threading.Event()

    def build(*key):
        entered.set()
        assert go_on.wait(20)
        return tiny(*key)

    arena = stage(build=build)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        opening = pool.submit(arena.post, "/runs")
        assert entered.wait(20)
        assert arena.get("/me").status_code == 200
        go_on.set()
        assert opening.result(20).status_code == 200


def test_a_scenario_is_built_once_for_all_who_ask(stage):
    built = []

    def build(*key):
        built.append(key)
        return tiny(*key)

    arena = stage(build=build, teams=8)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda team: arena.post("/runs", {"kind": "final"}, team=team), range(1, 9)))
    assert {answer.status_code for answer in answers} == {200}
    assert len(built) == 1


def test_many_open_runs_keep_few_scenarios_in_memory_and_lose_nothing(stage, monkeypatch):
    monkeypatch.setattr("emulators.arena.runs._MOST_AWAKE", 2)
    monkeypatch.setattr("emulators.arena.scenarios._MOST_KEPT", 2)
    arena = stage()
    runs = [arena.run()["run_id"] for _ in range(6)]
    for run in runs:
        arena.tool(run, "t01", "write", path="/drafts/a.md", content=run)
        arena.tool(run, "t02", "tree")
    inner = arena.app.arena.runs.all()
    assert sum(run.scenario is not None for run in inner) == 2
    for run in runs:
        packed = arena.get(f"/runs/{run}/tasks/t01/workspace.zip")
        with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
            assert archive.read("drafts/a.md").decode() == run
            assert b"Rules" in archive.read("AGENTS.md")
        read = arena.tool(run, "t01", "read", path="/drafts/a.md").json()
        assert read["result"]["text"] == run


def test_ended_runs_let_go_of_their_workspaces(stage):
    arena = stage()
    run = arena.run()["run_id"]
    arena.tool(run, "t01", "write", path="/drafts/a.md", content="x")
    arena.submit(run, "t01", 1)
    before = arena.get(f"/runs/{run}").json()["tasks"][0]
    arena.post(f"/runs/{run}/finish")
    (inner,) = arena.app.arena.runs.all()
    work = inner.works["t01"]
    assert (inner.scenario, work.versions, work.state.changed, work.task.files) == (None, {}, {}, {})
    after = arena.get(f"/runs/{run}").json()["tasks"][0]
    assert {name: after[name] for name in before} == before


def test_the_oldest_dev_runs_are_forgotten(stage, monkeypatch):
    monkeypatch.setattr("emulators.arena.runs._MOST_RUNS", 3)
    arena = stage()
    final = arena.run(kind="final")["run_id"]
    runs = [arena.run()["run_id"] for _ in range(4)]
    assert [arena.get(f"/runs/{run}").status_code for run in (final, *runs)] == [200, 404, 404, 200, 200]


def test_a_task_cannot_fill_the_memory(stage):
    arena = stage(limit=False)
    run = arena.run()["run_id"]
    for number in range(100):
        answer = arena.tool(run, "t01", "write", path="/drafts/a.md", content=f"{number:06}" + "x" * 100_000)
        if not answer.json()["ok"]:
            break
    assert "space" in answer.json()["error"]
    assert 20 < number < 90


def test_a_body_that_is_too_large_is_refused(stage):
    arena = stage()
    assert arena.call("POST", "/runs", content=b" " * (2 * 2**20 + 1)).status_code == 413


@pytest.mark.parametrize("seed", [None, 5])
def test_seeds_that_nobody_chose_follow_from_the_emulator_s_own(stage, seed):
    first, second = (stage(seed=seed).run() for _ in range(2))
    same = (first["seed"], first["variation"]) == (second["seed"], second["variation"])
    assert same is (seed is not None)


def test_run_ids_differ_between_emulators_of_one_seed(stage):
    assert stage(seed=5).run()["run_id"] != stage(seed=5).run()["run_id"]
