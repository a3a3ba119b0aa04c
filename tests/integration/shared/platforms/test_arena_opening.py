"""One run per request, whatever becomes of the answer to POST /runs."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.deadline import Deadline
from shared.errors import Conflict, NotAuthorised, Refused, SettingsError, Unavailable, Unclear
from shared.models import Kind, Run, RunRequest
from shared.platforms.arena.platform import FIRST_TRIES, ArenaPlatform
from shared.platforms.base import Prepared
from shared.platforms.retry import TRIES
from shared.pool import keys
from tests.integration.shared.platforms.conftest import at_once
from tests.support import scripted
from tests.support.played_arena import PlayedArena, Rule
from tests.support.scripted import ScriptedServer, html, reply

FIRST: Rule = {"endpoint": "POST /runs", "first": 1}
FAULTS: dict[str, Rule] = {
    "answer lost": {"fault": "drop", "when": "after"},
    "request lost": {"fault": "drop", "when": "before"},
    "500, not carried out": {"fault": "status", "status": 500},
    "500, carried out": {"fault": "status", "status": 500, "when": "after"},
    "502 of a gateway, carried out": {"fault": "status", "status": 502, "body": "html", "when": "after"},
    "503 of a gateway": {"fault": "status", "status": 503, "body": "html"},
    "answer cut off": {"fault": "truncate"},
    "answer shorter": {"fault": "truncate", "length": "cut"},
    "answer too late": {"fault": "hang", "seconds": 1.5, "when": "after"},
    "answer and run too late": {"fault": "hang", "seconds": 1.5},
    "429": {"fault": "too_many"},
}


def forget_claims(arena: PlayedArena) -> None:
    """As if the runs so far belonged to another pool, or Redis had lost everything."""
    arena.pool.redis.do(lambda client: client.delete(keys.CLAIMS))


def open_run(platform: ArenaPlatform, request: RunRequest, request_id: str = "req-1") -> Run:
    return platform.open(request, Prepared(), request_id)


def started(platform: ArenaPlatform) -> list[object]:
    return [run["run_id"] for run in platform.runs(Deadline.after(5))]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_an_unclear_answer_leaves_one_run_and_that_is_played(arena: PlayedArena, fault: Rule) -> None:
    arena.start([FIRST | fault])
    hangs = fault["fault"] == "hang"
    platform = arena.platform(http_timeout=1.0 if hangs else 30.0, sleep=time.sleep if hangs else at_once)

    run = open_run(platform, RunRequest())

    assert started(platform) == [run.run_id]
    assert [task.task_id for task in run.tasks] == ["t01", "t02", "t03"]
    assert all(task.instruction and task.level for task in run.tasks)


@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize("choice", ["newest", "oldest"])
def test_a_run_is_found_among_many_on_several_pages(
    arena: PlayedArena, choice: str, seed: int | None
) -> None:
    arena.start(
        [{"endpoint": "POST /runs", "nth": 6, "fault": "drop", "when": "after"}],
        choices={"runs_order": choice, "runs_page": 2},
    )
    platform = arena.platform(sleep=at_once)
    for number in range(5):
        open_run(platform, RunRequest(seed=seed), f"req-other-{number}")
    others = set(started(platform))

    run = open_run(platform, RunRequest(seed=seed))

    assert run.run_id not in others
    assert len(started(platform)) == 6


def test_a_chosen_seed_is_kept_and_another_made_from_the_request(arena: PlayedArena) -> None:
    arena.start()
    platform = arena.platform()

    assert open_run(platform, RunRequest(seed=77), "req-a").seed == 77
    mine, other = (open_run(platform, RunRequest(), request_id).seed for request_id in ("req-b", "req-c"))
    assert mine is not None
    assert 0 <= mine < 2**31
    assert mine != other


def test_a_run_left_behind_by_a_crash_is_adopted_by_whoever_comes_next(arena: PlayedArena) -> None:
    arena.start()
    since = time.time()
    left_behind = open_run(arena.platform(), RunRequest())

    adopted = arena.platform().adopt(RunRequest(), "req-1", since)

    assert adopted is not None
    assert adopted.run_id == left_behind.run_id
    assert adopted.tasks == left_behind.tasks
    assert arena.platform().adopt(RunRequest(), "req-2", since) is None


def test_producers_with_the_same_seed_each_get_a_run_of_their_own(arena: PlayedArena) -> None:
    lost = {"endpoint": "POST /runs", "nth": [1, 2, 4], "fault": "drop", "when": "after"}
    arena.start([lost, {"endpoint": "POST /runs", "nth": 5, "fault": "drop", "when": "before"}])
    platforms = [arena.platform(sleep=at_once) for _ in range(6)]

    with ThreadPoolExecutor(6) as threads:
        jobs = [
            threads.submit(open_run, platform, RunRequest(seed=7), f"req-{number}")
            for number, platform in enumerate(platforms)
        ]
        opened = [job.result().run_id for job in jobs]

    assert len(set(opened)) == 6
    assert sorted(opened) == sorted(str(run) for run in started(platforms[0]))


@pytest.mark.parametrize("skew", [0.0, 3600.0])
def test_an_older_run_with_the_same_seed_is_not_adopted(arena: PlayedArena, skew: float) -> None:
    arena.start(
        [{"endpoint": "POST /runs", "nth": 2, "fault": "drop", "when": "before"}],
        choices={"clock_skew": skew},
    )
    platform = arena.platform()
    older = open_run(platform, RunRequest(seed=7), "req-older")
    forget_claims(arena)
    arena.app.arena.clock.advance(30)

    run = open_run(platform, RunRequest(seed=7))

    assert run.run_id != older.run_id
    assert len(started(platform)) == 2


def test_a_run_with_the_same_seed_that_somebody_works_on_is_not_adopted(arena: PlayedArena) -> None:
    arena.start([{"endpoint": "POST /runs", "nth": 2, "fault": "drop", "when": "before"}])
    platform = arena.platform(sleep=at_once)
    others = open_run(platform, RunRequest(seed=7), "req-of-another-pool")
    platform.call_tool(others, others.tasks[0], "tree", {}, Deadline.after(5))
    forget_claims(arena)

    assert open_run(platform, RunRequest(seed=7)).run_id != others.run_id


@pytest.mark.parametrize(
    "rules", [[], [{"endpoint": "POST /runs", "nth": 2, "fault": "drop", "when": "after"}]]
)
def test_where_the_platform_takes_no_seeds_the_time_tells(arena: PlayedArena, rules: list[Rule]) -> None:
    arena.start(rules, choices={"seeds": "refused"})
    platform = arena.platform()

    run = open_run(platform, RunRequest())

    assert started(platform) == [run.run_id]
    with pytest.raises(Refused, match="seed"):
        open_run(platform, RunRequest(seed=7), "req-2")


def test_a_lost_final_run_is_found(arena: PlayedArena) -> None:
    arena.start([FIRST | {"fault": "drop", "when": "after"}], choices={"clock_skew": 3600.0})
    platform = arena.platform()

    run = open_run(platform, RunRequest(kind=Kind.FINAL))

    assert started(platform) == [run.run_id]
    assert run.kind is Kind.FINAL
    assert run.seconds_left == pytest.approx(1799, abs=2)


def test_a_final_run_in_progress_is_rejoined_and_never_started_twice(arena: PlayedArena) -> None:
    arena.start()
    platform = arena.platform()
    run = open_run(platform, RunRequest(kind=Kind.FINAL))
    platform.call_tool(run, run.tasks[0], "tree", {}, Deadline.after(5))

    assert open_run(platform, RunRequest(kind=Kind.FINAL)).run_id == run.run_id
    with pytest.raises(Conflict):
        open_run(platform, RunRequest(kind=Kind.FINAL), "req-of-somebody-else")

    forget_claims(arena)
    assert open_run(platform, RunRequest(kind=Kind.FINAL), "req-after-the-loss").run_id == run.run_id


def test_a_final_run_that_is_over_is_not_rejoined(arena: PlayedArena) -> None:
    arena.start()
    platform = arena.platform()
    run = open_run(platform, RunRequest(kind=Kind.FINAL))
    platform.finish(run, Deadline.after(5))

    with pytest.raises(Conflict):
        open_run(platform, RunRequest(kind=Kind.FINAL))


def test_a_closed_window_is_told_in_the_platforms_words(arena: PlayedArena) -> None:
    arena.start(window="closed")

    with pytest.raises(NotAuthorised, match="window"):
        open_run(arena.platform(), RunRequest(kind=Kind.FINAL))


def test_a_url_that_leads_to_no_api_is_told_with_the_setting(
    server: ScriptedServer, scripted_platform: ArenaPlatform
) -> None:
    server.on("POST", "/runs", reply({"error": "not found"}, status=404))
    with pytest.raises(SettingsError, match=r"HTTP 404, not found\): is SCRIMMAGE_ARENA_URL right\?"):
        open_run(scripted_platform, RunRequest())


@pytest.mark.parametrize(
    ("post", "look", "words"),
    [
        (html(200), html(200), "answers, but not as an arena .*malformed answer.*"),
        (html(404), html(404), "HTTP 404.*"),
        (html(405), html(404), "HTTP 405.*"),
        (html(501), html(404), "HTTP 404.*"),
        (reply({}, status=308, headers={"Location": "https://127.0.0.1/runs"}), reply({}), "redirected.*"),
    ],
    ids=["web page", "404", "405", "501", "redirect to https"],
)
def test_a_stranger_that_is_no_arena_is_told_after_few_requests(
    server: ScriptedServer,
    scripted_platform: ArenaPlatform,
    post: scripted.Behaviour,
    look: scripted.Behaviour,
    words: str,
) -> None:
    scripted_platform.reach(lambda _: None)
    server.on("POST", "/runs", forever=post)
    server.on("GET", "/runs", forever=look)

    with pytest.raises(SettingsError, match=words + "is SCRIMMAGE_ARENA_URL right"):
        open_run(scripted_platform, RunRequest())
    assert len(server.seen("POST", "/runs")) == 1
    assert len(server.seen("GET", "/runs")) <= FIRST_TRIES


def test_once_it_has_opened_a_run_the_same_is_taken_for_a_bad_hour(
    server: ScriptedServer, scripted_platform: ArenaPlatform
) -> None:
    scripted_platform.reach(lambda _: None)
    server.on("POST", "/runs", reply({"run_id": "run_1", "tasks": [{"task_id": "t01"}]}), forever=html(200))
    server.on("GET", "/runs", forever=html(200))
    open_run(scripted_platform, RunRequest())

    with pytest.raises(Unclear, match="a run may be open"):
        open_run(scripted_platform, RunRequest(), "req-2")
    assert len(server.seen("GET", "/runs")) == TRIES


def test_a_stranger_whose_answer_is_lost_leaves_one_run(arena: PlayedArena) -> None:
    arena.start([FIRST | {"fault": "status", "status": 502, "body": "html", "when": "after"}])
    platform = arena.platform(sleep=at_once)
    platform.reach(lambda _: None)

    run = open_run(platform, RunRequest())
    assert started(platform) == [run.run_id]


def test_a_wrong_key_is_told(arena: PlayedArena) -> None:
    arena.start()
    arena.app.arena.teams.get("team-1").revoked = True

    with pytest.raises(NotAuthorised) as caught:
        open_run(arena.platform(), RunRequest())
    assert caught.value.status == 401


def test_answers_that_make_no_sense_end_as_unclear(
    server: ScriptedServer, scripted_platform: ArenaPlatform
) -> None:
    server.on("POST", "/runs", forever=reply({"id": "run_1"}))
    server.on("GET", "/runs", forever=reply({"runs": [None, {"run_id": "../x"}, {"kind": "dev"}, 7]}))

    with pytest.raises(Unclear, match="run_id"):
        open_run(scripted_platform, RunRequest())
    assert len(server.seen("POST", "/runs")) == 3


def test_a_run_without_tasks_is_looked_at_again(
    server: ScriptedServer, scripted_platform: ArenaPlatform
) -> None:
    server.on("POST", "/runs", forever=reply({"run_id": "run_1"}, status=201))
    server.on("GET", "/runs/run_1", reply({"run_id": "run_1", "tasks": [{"task_id": "t01"}]}), reply({}))
    server.on("GET", "/runs/run_1", forever=reply({"run_id": "run_1", "tasks": []}))

    assert [task.task_id for task in open_run(scripted_platform, RunRequest()).tasks] == ["t01"]
    with pytest.raises(Unavailable, match="no tasks"):
        open_run(scripted_platform, RunRequest())


def test_a_refused_look_leaves_open_whether_there_is_a_run(
    server: ScriptedServer, scripted_platform: ArenaPlatform
) -> None:
    server.on("POST", "/runs", forever=scripted.drop)
    server.on("GET", "/runs", forever=reply({"error": "no"}, status=403))

    with pytest.raises(Unclear, match="a run may be open, but no"):
        open_run(scripted_platform, RunRequest())
