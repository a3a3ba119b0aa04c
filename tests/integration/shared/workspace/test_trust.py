"""Local tools earn their trust, once for the whole pool, also against an arena of another shape."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from emulators.arena.choices import Choices
from emulators.arena.scenario import Scenario, build
from emulators.arena.toolbox import Toolbox
from emulators.arena.work import TaskWork
from shared.deadline import Deadline
from shared.documents.tools import ReadOnlyTools
from shared.errors import ToolError
from shared.models import ToolResult
from shared.pool.connection import Patient, connect
from shared.workspace.trust import PROOFS, Trust, TrustedTools

ORIGIN = "https://arena.example"


class Remote:
    """The platform's side of the tools, without HTTP. Counts its calls."""

    def __init__(self, scenario: Scenario, **choices: Any) -> None:
        self.calls = 0
        self._scenario = scenario
        self._toolbox = Toolbox(Choices(**choices))
        self._work = TaskWork.begin(scenario, scenario.tasks[0])

    def __call__(self, name: str, args: Mapping[str, Any]) -> ToolResult:
        self.calls += 1
        try:
            result = self._toolbox.call(self._work, self._scenario, name, args)
        except ToolError as error:
            return ToolResult(ok=False, error=str(error))
        return ToolResult(ok=True, result=result)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return build("hub", seed=1, variation=1)


@pytest.fixture
def files(scenario: Scenario) -> dict[str, bytes]:
    return {path: scenario.blobs[sha] for path, sha in scenario.tasks[0].files.items()}


def make(files: dict[str, bytes], remote: Remote, patient: Patient, theme: str = "hub") -> TrustedTools:
    trust = Trust(patient, ORIGIN, theme)
    return TrustedTools(ReadOnlyTools(files), remote, trust, files, Deadline.after(30))


CALLS: dict[str, list[dict[str, Any]]] = {
    "tree": [{}, {"path": "/"}, {"path": "/var"}, {"path": "/var/audit"}],
    "read": [{"path": "/AGENTS.md", "start_line": start} for start in (1, 2, 3, 4)],
    "search": [{"pattern": word} for word in ("agent-01", "deploy", "TOK-", "zzzz")],
    "query_logs": [{"limit": limit} for limit in (1, 5, 50)] + [{"agent": "agent-48"}],
    "access_path": [{"from": "agent-01", "to": f"agent-{n}"} for n in (62, 69, "02", "48")],
}


@pytest.mark.parametrize("tool", sorted(CALLS))
@pytest.mark.parametrize("shape", ["plain", "wrapped", "renamed", "text"])
def test_a_tool_that_agrees_is_answered_locally_after_its_proofs(
    scenario: Scenario, files: dict[str, bytes], patient: Patient, tool: str, shape: str
) -> None:
    remote = Remote(scenario, result_shape=shape)
    tools, local = make(files, remote, patient), ReadOnlyTools(files)
    where = []
    for args in CALLS[tool]:
        result, place = tools.call(tool, args)
        assert result == local.call(tool, args)
        where.append(place)
    assert where == ["platform"] * PROOFS + ["local"]
    assert remote.calls == PROOFS


def test_what_one_process_proved_others_need_not(
    scenario: Scenario, files: dict[str, bytes], patient: Patient
) -> None:
    tools = make(files, Remote(scenario), patient)
    for args in CALLS["read"]:
        tools.call("read", args)
    remote = Remote(scenario)
    assert make(files, remote, patient).call("read", {"path": "/AGENTS.md"})[1] == "local"
    assert make(files, remote, patient, theme="other").call("read", {"path": "/AGENTS.md"})[1] == "platform"
    assert remote.calls == 1


def test_a_tool_that_differs_goes_out_from_then_on_and_no_other_tool_does(
    scenario: Scenario, files: dict[str, bytes], patient: Patient
) -> None:
    remote = Remote(scenario, until_inclusive=False)
    tools, local = make(files, remote, patient), ReadOnlyTools(files)
    moment = local.call("query_logs", {"limit": 1})["events"][0]["time"]
    for args in CALLS["query_logs"][: PROOFS - 1]:
        tools.call("query_logs", args)
    result, _ = tools.call("query_logs", {"until": moment})
    assert result != local.call("query_logs", {"until": moment})
    for args in CALLS["query_logs"]:
        assert tools.call("query_logs", args)[1] == "platform"
    other = make(files, remote, patient)
    assert [other.call("query_logs", {"limit": n})[1] for n in (7, 8, 9, 10)] == ["platform"] * 4
    assert [tools.call("read", args)[1] for args in CALLS["read"]][-1] == "local"


def test_a_refusal_on_both_sides_is_the_platforms_and_proves_nothing(
    scenario: Scenario, files: dict[str, bytes], patient: Patient
) -> None:
    remote = Remote(scenario)
    tools = make(files, remote, patient)
    for number in range(PROOFS + 1):
        with pytest.raises(ToolError, match="not found"):
            tools.call("read", {"path": f"/nowhere-{number}.md"})
    assert remote.calls == PROOFS + 1


def test_a_tool_that_only_the_platform_refuses_goes_out(files: dict[str, bytes], patient: Patient) -> None:
    tools = TrustedTools(
        ReadOnlyTools(files),
        lambda name, args: ToolResult(ok=False, error="closed today"),
        Trust(patient, ORIGIN, "hub"),
        files,
        Deadline.after(30),
    )
    with pytest.raises(ToolError, match="closed today"):
        tools.call("tree", {})
    assert Trust(patient, ORIGIN, "hub").is_trusted("tree") is False


def test_a_tool_that_is_not_local_goes_out(
    scenario: Scenario, files: dict[str, bytes], patient: Patient
) -> None:
    result, where = make(files, Remote(scenario), patient).call("get_containment", {})
    assert where == "platform"
    assert isinstance(result, dict)


def test_many_tasks_that_begin_together_prove_a_tool_once(
    scenario: Scenario, files: dict[str, bytes], redis_url: str
) -> None:
    remote = Remote(scenario)
    calls = [{"path": "/AGENTS.md", "start_line": start} for start in range(1, 13)]

    def read(args: dict[str, Any]) -> object:
        with connect(redis_url) as client:
            return make(files, remote, Patient(client)).call("read", args)[0]

    with ThreadPoolExecutor(len(calls)) as threads:
        answers = list(threads.map(read, calls))
    assert answers == [ReadOnlyTools(files).call("read", args) for args in calls]
    assert remote.calls == PROOFS


def test_the_same_call_goes_out_once_and_proves_once(
    scenario: Scenario, files: dict[str, bytes], patient: Patient
) -> None:
    remote = Remote(scenario)
    tools = make(files, remote, patient)
    assert [tools.call("tree", {})[1] for _ in range(PROOFS)] == ["platform"] + ["local"] * (PROOFS - 1)
    assert remote.calls == 1
    assert tools.call("tree", {"path": "/"})[1] == "platform"
