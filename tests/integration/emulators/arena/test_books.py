import hashlib

from tests.support.arena import STATE


def page(arena, team="team-1"):
    return arena.books()["accounts"][team]


def test_the_books_tell_what_a_client_did(stage):
    arena = stage(teams=2)
    run = arena.run()["run_id"]
    sha = hashlib.sha256(b"For the first task alone.\n").hexdigest()
    for _ in range(2):
        arena.get(f"/runs/{run}/blobs/{sha}?task=t01")
    arena.get(f"/runs/{run}/tasks/t02/workspace.zip")
    arena.get(f"/runs/{run}/tasks/t02/files{STATE}")
    for subject in ("a", "b", "a"):
        arena.tool(run, "t01", "send_message", to="x@example.test", subject=subject, body="b")
    arena.tool(run, "t02", "write", path="/nowhere", content="refused")
    for answer in (1, 2):
        arena.submit(run, "t01", answer)
    arena.post(f"/runs/{arena.run()['run_id']}/finish")
    books = page(arena)
    assert books["blobs"] == {sha: 2}
    assert books["zips"] == {f"{run}/t02": 1}
    assert books["files"] == {f"{run}{STATE}": 1}
    assert books["tool_calls"] == {f"{run}/t01": 3, f"{run}/t02": 1}
    assert books["effects"] == {f"{run}/t01": 3}
    assert books["duplicate_effects"] == {f"{run}/t01": 1}
    assert books["submits"] == {f"{run}/t01": 1}
    assert books["duplicate_submits"] == {f"{run}/t01": 1}
    assert books["requests"] == 13
    assert books["requests_by_run"][run] == 10
    assert books["by_endpoint"]["POST /runs"] == 2
    assert books["by_status"] == {"200": 12, "409": 1}
    assert books["peaks"]["1s"] == 13
    assert arena.books()["unfinished_runs"] == [run]
    assert "team-2" not in arena.books()["accounts"]


def test_requests_over_the_limit_are_counted_even_when_the_limit_is_lifted(stage):
    counts = []
    for limit in (True, False):
        arena = stage(limit=limit)
        statuses = [arena.get("/me").status_code for _ in range(110)]
        assert statuses.count(429) == (10 if limit else 0)
        counts.append(page(arena)["over_limit"])
        assert page(arena)["peaks"]["burst"] == 110
    assert counts == [10, 10]


def test_a_client_that_waits_has_no_early_retries(stage):
    arena = stage()
    for _ in range(101):
        arena.get("/me")
    arena.get("/me")
    arena.get("/tools")
    assert (page(arena)["early_retries"], page(arena)["during_pause"]) == (1, 2)
    arena.clock.advance(1)
    arena.get("/me")
    assert (page(arena)["early_retries"], page(arena)["during_pause"]) == (1, 2)


def test_requests_without_a_key_are_nobody_s(stage):
    arena = stage()
    with arena.client("arena_of_somebody") as somebody:
        somebody.get("/me")
    assert page(arena, "nobody")["by_status"] == {"401": 1}


def test_unknown_paths_do_not_fill_the_books(stage):
    arena = stage()
    for number in range(5):
        arena.get(f"/no/{number}")
    assert page(arena)["by_endpoint"] == {"unknown": 5}
