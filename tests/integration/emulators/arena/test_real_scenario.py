"""The emulator with its own scenario, played by somebody who knows the truth."""

import hashlib

from emulators.arena.scenario import build


def test_a_run_that_does_and_cites_everything_right_scores_one(stage):
    arena = stage(build=build, limit=False)
    run = arena.run(seed=20)
    truth = build(run["theme"], run["seed"], run["variation"])
    assert [task["instruction"] for task in run["tasks"]] == [task.instruction for task in truth.tasks]
    for task in truth.tasks:
        for effect in task.reference.effects:
            done = arena.tool(run["run_id"], task.task_id, effect.tool, **effect.args).json()
            assert done["ok"], (task.family, done)
        sources = [source.wire() for source in task.expected_sources]
        grade = arena.submit(
            run["run_id"], task.task_id, task.expected_answer, str(task.expected_outcome), sources
        ).json()
        assert grade["score"] == 1, (task.family, grade)
    done = arena.post(f"/runs/{run['run_id']}/finish").json()
    assert (len(truth.tasks), done["tasks_submitted"], done["accuracy"]) == (30, 30, 1)


def test_most_files_are_shared_by_many_tasks(stage):
    arena = stage(build=build)
    run = arena.run(seed=20)["run_id"]
    manifest = arena.get(f"/runs/{run}/manifest").json()
    sizes = {blob["sha256"]: blob["size"] for blob in manifest["blobs"]}
    all_bytes = sum(sizes[sha] for task in manifest["tasks"] for sha in task["files"].values())
    assert 1e6 < manifest["total_bytes"] < 4e6
    assert all_bytes > 5 * manifest["total_bytes"]
    for blob in manifest["blobs"]:
        data = arena.get(f"/runs/{run}/blobs/{blob['sha256']}").content
        assert hashlib.sha256(data).hexdigest() == blob["sha256"]


def test_the_final_run_plays_another_theme(stage):
    arena = stage(build=build)
    dev, final = arena.run(seed=20), arena.run(kind="final")
    assert dev["theme"] == "hub"
    assert final["theme"] != "hub"
    assert len(final["tasks"]) == 30
    assert not {task["instruction"] for task in dev["tasks"]} & {
        task["instruction"] for task in final["tasks"]
    }
