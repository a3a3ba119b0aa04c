"""Tools, submits, looks and the end of a run, against the emulator, with and without faults."""

from __future__ import annotations

import dataclasses

import pytest

from emulators.arena.scenario.model import Scenario
from shared.deadline import Deadline
from shared.errors import Conflict, DeadlinePassed, NotAuthorised, NotFound, Unclear
from shared.models import Effect, Kind, Receipt, Run, RunRequest, Solution, Source, Task
from shared.platforms.arena.platform import ArenaPlatform
from shared.platforms.base import Prepared
from tests.support.arena import LOG, tiny
from tests.support.played_arena import PlayedArena, Rule
from tests.support.scripted import Behaviour, ScriptedServer, reply

SHA = "ab" * 32
SOLUTIONS = {
    "t01": Solution(answer=7, sources=(Source(path=LOG, line=10), Source(path="/AGENTS.md", line=1))),
    "t02": Solution(answer=["agent-02", "agent-01"]),
    "t03": Solution(outcome="DENIED_SECURITY", effects=(Effect(tool="containment"),)),
}
FAULTS: dict[str, Rule] = {
    "answer lost": {"fault": "drop", "when": "after"},
    "request lost": {"fault": "drop", "when": "before"},
    "500, not carried out": {"fault": "status", "status": 500},
    "500, carried out": {"fault": "status", "status": 500, "when": "after"},
    "502 of a gateway, carried out": {"fault": "status", "status": 502, "body": "html", "when": "after"},
    "answer cut off": {"fault": "truncate"},
    "answer shorter": {"fault": "truncate", "length": "cut"},
    "answer too late": {"fault": "hang", "seconds": 1.5, "when": "after"},
    "too late to be sure": {"fault": "hang", "seconds": 1.5},
    "429": {"fault": "too_many"},
}
every_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())


def patience(fault: Rule) -> float:
    """Seconds until an answer counts as lost: less than a hang takes, else enough for a busy machine."""
    return 1.0 if fault["fault"] == "hang" else 30.0


def soon() -> Deadline:
    return Deadline.after(30)


def begin(arena: PlayedArena, kind: Kind = Kind.DEV, **settings: object) -> tuple[ArenaPlatform, Run]:
    platform = arena.platform(**settings)
    return platform, platform.open(RunRequest(kind=kind, seed=7), Prepared(), "req-1")


def submit(platform: ArenaPlatform, run: Run, deadline: Deadline | None = None) -> dict[str, Receipt]:
    return {receipt.task_id: receipt for receipt in platform.submit(run, SOLUTIONS, deadline or soon())}


def test_answers_arrive_as_they_are_and_bring_their_grades(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena)

    receipts = submit(platform, run)

    assert [receipts[task].accepted for task in ("t01", "t02", "t03")] == [True] * 3
    grade = receipts["t01"].grade
    assert grade is not None
    assert (grade.answer_score, grade.constraints_ok) == (1.0, True)
    assert (grade.sources_hit, grade.sources_expected) == (2, 3)
    assert "Answer ✓" in grade.feedback
    shown = {r.task_id: r.submission for r in platform.finish(run, soon()).reveals}
    assert shown["t01"] == {
        "outcome": "OK",
        "answer": 7,
        "sources": [{"path": LOG, "line": 10}, {"path": "/AGENTS.md", "line": 1}],
    }
    assert shown["t03"] == {"outcome": "DENIED_SECURITY", "answer": None, "sources": []}


in_both_kinds = pytest.mark.parametrize(
    ("kind", "fault"),
    [
        *(pytest.param(Kind.DEV, fault, id=f"dev, {name}") for name, fault in FAULTS.items()),
        pytest.param(Kind.FINAL, FAULTS["answer lost"], id="final, answer lost"),
    ],
)


@in_both_kinds
def test_each_task_is_submitted_exactly_once(arena: PlayedArena, fault: Rule, kind: Kind) -> None:
    arena.start([{"endpoint": "POST /runs/*/tasks/*/submit", "first": 1, "per": "path"} | fault])
    platform, run = begin(arena, kind, http_timeout=patience(fault))

    receipts = submit(platform, run)

    assert {task for task, receipt in receipts.items() if receipt.accepted} == set(SOLUTIONS)
    assert set(arena.books()["submits"].values()) == {1}
    assert sum(arena.books()["faults"].values()) >= 3
    graded = [receipt.grade is not None for receipt in receipts.values()]
    assert graded == [kind is Kind.DEV] * 3


def test_what_is_submitted_already_is_shown_and_not_posted_again(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena)
    first = submit(platform, run)
    before = arena.books()["requests"]

    again = submit(platform, run)

    assert {task: receipt.accepted for task, receipt in again.items()} == dict.fromkeys(SOLUTIONS, True)
    assert again["t02"].grade is not None
    assert first["t02"].grade is not None
    assert again["t02"].grade.score == first["t02"].grade.score
    assert arena.books()["requests"] - before == 4, "the 409 of each, and then one look"


def test_a_run_that_is_over_takes_no_answer(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena)
    platform.finish(run, soon())

    receipts = submit(platform, run)

    assert {task: receipt.accepted for task, receipt in receipts.items()} == dict.fromkeys(SOLUTIONS, False)
    assert receipts["t01"].reason == "the run is finished"


def test_a_deadline_that_passes_in_the_middle_leaves_the_rest_refused(arena: PlayedArena) -> None:
    arena.start(
        [{"endpoint": "POST /runs/*/tasks/t02/submit", "first": 1, "fault": "deadline", "seconds": 0}]
    )
    platform, run = begin(arena, Kind.FINAL)

    receipts = {}
    for task_id, solution in SOLUTIONS.items():
        (receipts[task_id],) = platform.submit(run, {task_id: solution}, soon())
    assert [receipts[task].accepted for task in SOLUTIONS] == [True, False, False]
    assert receipts["t03"].reason == "the run is expired"
    card = platform.finish(run, soon())
    assert (card.status, card.tasks_submitted, card.tasks_total) == ("expired", 1, 3)


def test_an_answer_that_the_platform_refuses_does_not_hold_up_the_others(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena)
    bad = {
        "t01": Solution(outcome="MAYBE"),
        "t02": Solution(answer=float("nan")),
        "t09": Solution(answer=1),
        "t03": Solution(answer="done"),
    }

    receipts = {receipt.task_id: receipt for receipt in platform.submit(run, bad, soon())}

    assert receipts["t03"].accepted
    assert not any(receipts[task].accepted for task in ("t01", "t02", "t09"))
    assert "outcome" in str(receipts["t01"].reason)
    assert "not JSON" in str(receipts["t02"].reason)
    assert "no such task" in str(receipts["t09"].reason)


def test_receipts_that_came_are_handed_on_before_a_failure(arena: PlayedArena) -> None:
    arena.start([{"endpoint": "POST /runs/*/tasks/t02/submit", "fault": "status", "status": 403}])
    platform, run = begin(arena)
    received: list[Receipt] = []

    with pytest.raises(NotAuthorised):
        received.extend(platform.submit(run, SOLUTIONS, soon()))
    assert sorted(receipt.task_id for receipt in received) == ["t01", "t03"]


def test_submits_end_with_the_deadline(arena: PlayedArena) -> None:
    arena.start([{"endpoint": "POST /runs/*/tasks/t02/submit", "fault": "too_many", "retry_after": 30}])
    platform, run = begin(arena)

    with pytest.raises(DeadlinePassed):
        submit(platform, run, Deadline.after(1))


def test_a_submit_that_never_gets_a_clear_answer_is_called_unclear(arena: PlayedArena) -> None:
    arena.start([{"endpoint": "POST /runs/*/tasks/t01/submit", "fault": "drop", "when": "before"}])
    platform, run = begin(arena, sleep=lambda _: None)

    with pytest.raises(Unclear, match="t01"):
        submit(platform, run)
    assert sorted(arena.books()["submits"]) == [f"{run.run_id}/t02", f"{run.run_id}/t03"]


def test_a_revoked_key_ends_the_submits(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena)
    arena.app.arena.teams.get("team-1").revoked = True

    with pytest.raises(NotAuthorised):
        submit(platform, run)


@every_fault
def test_an_effect_is_sent_once_whatever_becomes_of_its_answer(arena: PlayedArena, fault: Rule) -> None:
    arena.start([{"endpoint": "POST /runs/*/tasks/*/tools/send_message", "first": 1} | fault])
    platform, run = begin(arena, http_timeout=patience(fault))
    mail = {"to": "duty@example.test", "subject": "s", "body": "b"}

    if fault["fault"] == "too_many":  # refused before it was looked at: no doubt about that
        assert platform.call_tool(run, run.tasks[2], "send_message", mail, soon()).ok
        return
    with pytest.raises(Unclear, match="send_message"):
        platform.call_tool(run, run.tasks[2], "send_message", mail, soon())
    assert arena.books()["requests"] == 2, "POST /runs and the effect"


@every_fault
def test_a_read_only_tool_is_called_again(arena: PlayedArena, fault: Rule) -> None:
    arena.start([{"endpoint": "POST /runs/*/tasks/*/tools/threat_intel", "first": 1} | fault])
    platform, run = begin(arena, http_timeout=patience(fault))

    answer = platform.call_tool(run, run.tasks[0], "threat_intel", {"indicator": "bad.test"}, soon())
    assert answer.ok
    assert answer.result
    assert sum(arena.books()["faults"].values()) == 1


@pytest.mark.parametrize("status", [200, 400, 404])
@pytest.mark.parametrize("name", ["unheard_of", "..", "a/b"])
def test_a_tool_that_does_not_exist_is_an_error_of_the_call(
    arena: PlayedArena, status: int, name: str
) -> None:
    arena.start(choices={"unknown_tool": status})
    platform, run = begin(arena)

    answer = platform.call_tool(run, run.tasks[0], name, {}, soon())
    assert not answer.ok
    assert answer.error


def test_a_tools_error_is_passed_on(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena)

    answer = platform.call_tool(run, run.tasks[0], "read", {"path": "/nowhere.md"}, soon())
    assert not answer.ok
    assert "nowhere" in str(answer.error)


def test_a_tool_call_on_a_frozen_task_is_a_conflict(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena)
    submit(platform, run)

    with pytest.raises(Conflict, match="submitted"):
        platform.call_tool(run, run.tasks[0], "tree", {}, soon())


def test_tools_are_listed_once_for_the_whole_pool(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena)

    tools = platform.tools(run)
    assert arena.platform().tools(run) == tools
    assert platform.tools(run) == tools

    assert arena.books()["requests"] == 2, "POST /runs, and GET /tools once"
    assert {name for name, tool in tools.items() if tool["effect"]} == {
        "containment",
        "send_message",
        "write",
    }
    assert tools["threat_intel"]["description"]


@in_both_kinds
def test_a_run_is_finished_whatever_becomes_of_the_answer(
    arena: PlayedArena, fault: Rule, kind: Kind
) -> None:
    arena.start([{"endpoint": "POST /runs/*/finish", "first": 1} | fault])
    platform, run = begin(arena, kind, http_timeout=patience(fault))
    submit(platform, run)

    card = platform.finish(run, soon())

    assert sum(arena.books()["faults"].values()) == 1
    assert (card.status, card.tasks_submitted, card.tasks_total) == ("finished", 3, 3)
    assert len(card.reveals) == (3 if kind is Kind.DEV else 0)
    assert (card.accuracy is not None) == (kind is Kind.DEV)
    assert platform.finish(run, soon()).accuracy == card.accuracy, "closing again changes nothing"


def test_the_scorecard_reveals_what_was_expected(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena)
    submit(platform, run)

    card = platform.finish(run, soon())

    reveal = next(reveal for reveal in card.reveals if reveal.task_id == "t02")
    assert reveal.expected_outcome == "OK"
    assert reveal.expected_answer == ["agent-01", "agent-02"]
    assert {"path": LOG, "line": 10} in reveal.expected_sources
    assert reveal.grade is not None
    assert reveal.grade.answer_score == 1.0
    assert card.final_score is not None
    assert platform.refresh(run, soon()).final_score == card.final_score


@pytest.mark.parametrize("status", [200, 409])
def test_an_expired_run_gives_its_scorecard(arena: PlayedArena, status: int) -> None:
    arena.start(choices={"finish_on_expired": status})
    platform, run = begin(arena, Kind.FINAL)
    list(platform.submit(run, {"t01": SOLUTIONS["t01"]}, soon()))
    arena.app.arena.clock.advance(1801)

    card = platform.finish(run, soon())
    assert (card.status, card.tasks_submitted, card.tasks_total) == ("expired", 1, 3)


def test_scores_of_a_final_run_come_later(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena, Kind.FINAL)
    submit(platform, run)
    assert platform.finish(run, soon()).final_score is None

    arena.app.arena.runs.publish()
    assert platform.refresh(run, soon()).final_score is not None


def test_a_look_shows_what_the_platform_knows(arena: PlayedArena) -> None:
    arena.start(choices={"clock_skew": -3600.0})
    platform, run = begin(arena, Kind.FINAL)
    platform.call_tool(run, run.tasks[0], "tree", {}, soon())
    list(platform.submit(run, {"t01": SOLUTIONS["t01"]}, soon()))

    view = platform.look(run, soon())
    assert view.status == "active"
    assert view.seconds_left == pytest.approx(1799, abs=2)
    assert [view.tasks[task].submitted for task in SOLUTIONS] == [True, False, False]
    assert view.tasks["t01"].tool_calls == 1
    assert view.scorecard is None


def test_a_finish_that_is_refused_while_the_run_goes_on_is_told(arena: PlayedArena) -> None:
    arena.start([{"endpoint": "POST /runs/*/finish", "fault": "status", "status": 403}])
    platform, run = begin(arena)

    with pytest.raises(NotAuthorised):
        platform.finish(run, soon())


def test_a_blob_is_looked_for_in_the_whole_run_where_the_hinted_task_has_it_no_more(
    server: ScriptedServer, scripted_platform: ArenaPlatform
) -> None:
    listing = {"tasks": [{"task_id": "t01", "files": {"/state.json": SHA}}]}
    server.on("GET", "/runs/run_1/manifest", reply(listing))
    server.on(
        "GET", f"/runs/run_1/blobs/{SHA}", reply({"error": "no such blob"}, status=404), reply(b"state")
    )
    run = Run(platform="arena", run_id="run_1")

    files = scripted_platform.files(run, Task(run_id="run_1", task_id="t01"))

    assert files.blob(SHA, "t01", soon()) == b"state"
    assert [request.path.partition("?")[2] for request in server.seen(path="*blobs*")] == ["task=t01", ""]


@pytest.mark.parametrize("answer", [reply({"error": "gone"}, status=404), reply({"blobs": []})])
def test_without_the_runs_manifest_each_task_is_asked_for_its_own_files(
    server: ScriptedServer, scripted_platform: ArenaPlatform, answer: Behaviour
) -> None:
    server.on("GET", "/runs/run_1/manifest", answer)
    own = {"files": [{"path": "/a.md", "sha256": SHA.upper(), "size": 5}, {"path": "/odd"}]}
    server.on("GET", "/runs/run_1/tasks/t01/manifest", reply(own))
    server.on("GET", "/runs/run_1/tasks/t02/manifest", reply({"error": "gone"}, status=404))
    tasks = [Task(run_id="run_1", task_id=name) for name in ("t01", "t02")]
    run = Run(platform="arena", run_id="run_1", tasks=tuple(tasks))

    first, second = (scripted_platform.files(run, task) for task in tasks)

    assert (first.paths, second.paths) == ({"/a.md": SHA}, {})
    assert first.sizes == {SHA: 5}
    assert len(server.seen(path="*manifest*")) == 3


def test_a_file_that_no_hash_leads_to_is_asked_for_by_its_path(
    server: ScriptedServer, scripted_platform: ArenaPlatform
) -> None:
    listing = {"tasks": [{"task_id": "task 1", "files": {"/a b/50%.md": SHA}}]}
    server.on("GET", "/runs/run_1/manifest", reply(listing))
    server.on("GET", f"/runs/run_1/blobs/{SHA}", reply({"error": "no such blob"}, status=404))
    server.on("GET", "/runs/run_1/tasks/task%201/files/a%20b/50%25.md", reply(b"bytes"))
    run = Run(platform="arena", run_id="run_1")

    files = scripted_platform.files(run, Task(run_id="run_1", task_id="task 1"))

    assert files.blob(SHA, "task 1", soon()) == b"bytes"


@pytest.mark.parametrize(
    ("first", "query"),
    [
        ({"next": "https://elsewhere.example/runs?offset=1&limit=1"}, "offset=1&limit=1"),
        ({"next_cursor": "abc="}, "cursor=abc%3D"),
        ({"has_more": True}, "page=2"),
    ],
)
def test_further_pages_of_runs_are_asked_for_at_the_same_address(
    server: ScriptedServer, scripted_platform: ArenaPlatform, first: dict[str, object], query: str
) -> None:
    server.on("GET", "/runs", reply({"runs": [{"run_id": "run_1"}], **first}), reply([{"run_id": "run_2"}]))

    assert [run["run_id"] for run in scripted_platform.runs(soon())] == ["run_1", "run_2"]
    assert server.requests[1].path == f"/runs?{query}"


@pytest.mark.parametrize("first", [{"next": "http://[broken"}, {"next": "/runs"}, {"has_more": True}])
def test_pages_that_bring_nothing_new_end_the_list(
    server: ScriptedServer, scripted_platform: ArenaPlatform, first: dict[str, object]
) -> None:
    server.on("GET", "/runs", forever=reply({"runs": [{"run_id": "run_1"}], **first}))

    assert len(scripted_platform.runs(soon())) == 1
    assert len(server.requests) <= 2


def test_an_unknown_run_is_not_found(arena: PlayedArena) -> None:
    arena.start()
    platform, run = begin(arena)
    unknown = run.model_copy(update={"run_id": "run_unknown"})

    for ask in (platform.look, platform.finish, platform.refresh):
        with pytest.raises(NotFound):
            ask(unknown, soon())


@pytest.mark.parametrize(
    "choices",
    [
        {"envelope": "data", "create_status": 201, "extra_fields": True},
        {"nulls": "left out", "check_order": "body", "empty_body": "refused", "runs_page": 1},
        {"seeds": "small", "retry_after": "date", "result_shape": "wrapped", "final_seed_shown": True},
    ],
)
@pytest.mark.parametrize("kind", Kind)
def test_a_whole_run_plays_under_other_readings_of_the_text(
    arena: PlayedArena, choices: dict[str, object], kind: Kind
) -> None:
    arena.start(choices=choices)
    platform, run = begin(arena, kind)

    assert platform.tools(run)["write"]["effect"]
    assert platform.call_tool(run, run.tasks[0], "tree", {}, soon()).ok
    assert LOG in platform.files(run, run.tasks[0]).paths
    assert all(receipt.accepted for receipt in submit(platform, run).values())
    assert platform.look(run, soon()).tasks["t01"].tool_calls == 1
    card = platform.finish(run, soon())
    assert (card.status, card.tasks_submitted) == ("finished", 3)
    assert [shown["run_id"] for shown in platform.runs(soon())] == [run.run_id]


def thirty(theme: str, seed: int, variation: int) -> Scenario:
    base = tiny(theme, seed, variation)
    tasks = (dataclasses.replace(base.tasks[1], task_id=f"t{number:02d}") for number in range(1, 31))
    return dataclasses.replace(base, tasks=tuple(tasks))


@pytest.mark.parametrize("seed", [1, 3])
def test_a_storm_of_faults_loses_nothing_and_doubles_nothing(arena: PlayedArena, seed: int) -> None:
    storm: list[Rule] = [
        {"fault": "status", "status": 500, "probability": 0.05},
        {"fault": "status", "status": 502, "body": "html", "when": "after", "probability": 0.05},
        {"fault": "drop", "when": "after", "probability": 0.05},
        {"fault": "hang", "seconds": 1.5, "probability": 0.02},
        {"fault": "truncate", "probability": 0.02},
        {"fault": "too_many", "probability": 0.02},
    ]
    arena.start([{"endpoint": "* /**"} | rule for rule in storm], seed=seed, build=thirty)
    platform, run = begin(arena, http_timeout=1.0)
    solutions = {task.task_id: SOLUTIONS["t02"] for task in run.tasks}

    receipts = list(platform.submit(run, solutions, soon()))
    card = platform.finish(run, soon())

    assert sorted(receipt.task_id for receipt in receipts) == sorted(solutions)
    assert all(receipt.accepted and receipt.grade for receipt in receipts)
    assert arena.books()["submits"] == {f"{run.run_id}/{task}": 1 for task in solutions}
    assert (card.status, card.tasks_submitted, len(card.reveals)) == ("finished", 30, 30)
    assert [shown["run_id"] for shown in platform.runs(soon())] == [run.run_id]
