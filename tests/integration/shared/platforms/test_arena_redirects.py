"""A gateway that sends requests elsewhere for a while (login, maintenance) decides nothing."""

from __future__ import annotations

import pytest

from shared.deadline import Deadline
from shared.errors import Unavailable
from shared.models import Run, Solution, Task
from shared.platforms.arena.platform import ArenaPlatform
from tests.support.scripted import ScriptedServer, reply

RUN = Run(
    platform="arena",
    run_id="run_1",
    tasks=(Task(run_id="run_1", task_id="t01"), Task(run_id="run_1", task_id="t02")),
)
ELSEWHERE = reply({}, status=302, headers={"Location": "https://status.invalid/"})
SHOWN = {"run_id": "run_1", "status": "active", "tasks": [{"task_id": "t01", "submitted": False}]}


def soon() -> Deadline:
    return Deadline.after(20)


@pytest.fixture(autouse=True)
def _away(server: ScriptedServer) -> None:
    """Every POST is redirected once, and carried out the next time."""
    received = {"received": True, "task_id": "t01"}
    server.on("POST", "/runs/run_1/tasks/t01/submit", ELSEWHERE, reply(received))
    server.on("POST", "/runs/run_1/tasks/t01/tools/write", ELSEWHERE, reply({"ok": True}))
    server.on("POST", "/runs/run_1/finish", ELSEWHERE, reply({"status": "finished"}))
    server.on("GET", "/runs/run_1", forever=reply(SHOWN))


def test_a_submission_that_was_redirected_is_not_refused_for_good(scripted_platform: ArenaPlatform) -> None:
    solutions = {"t01": Solution(answer=1)}
    with pytest.raises(Unavailable, match="redirected"):
        list(scripted_platform.submit(RUN, solutions, soon()))
    assert [receipt.accepted for receipt in scripted_platform.submit(RUN, solutions, soon())] == [True]


def test_an_effect_that_was_redirected_was_not_refused(scripted_platform: ArenaPlatform) -> None:
    with pytest.raises(Unavailable, match="redirected"):
        scripted_platform.call_tool(RUN, RUN.tasks[0], "write", {}, soon())
    assert scripted_platform.call_tool(RUN, RUN.tasks[0], "write", {}, soon()).ok


def test_a_finish_that_was_redirected_fails_no_run(scripted_platform: ArenaPlatform) -> None:
    with pytest.raises(Unavailable, match="redirected"):
        scripted_platform.finish(RUN, soon())
    assert scripted_platform.finish(RUN, soon()).status == "finished"
