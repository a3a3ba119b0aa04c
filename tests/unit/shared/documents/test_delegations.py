"""The registry export is found by looking, in every shape that exports come in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emulators.arena.scenario import build
from emulators.arena.scenario.grow import grow
from emulators.arena.scenario.themes import THEMES
from shared.documents.tools import ReadOnlyTools
from shared.errors import ToolError


def chain(files: dict[str, bytes], start: str = "a", goal: str = "c") -> list[str] | None:
    path: list[str] | None = ReadOnlyTools(files).call("access_path", {"from": start, "to": goal})["path"]
    return path


AGENTS = b"id,team\na,red\nb,red\nc,blue\n"


@pytest.mark.parametrize(
    "export",
    [
        b"delegation_id,from_agent,to_agent\nD1,a,b\nD2,b,c\n",
        b"no;grantor;grantee;closed\n1;a;b;\n2;b;c;\n3;a;c;2026-01-01\n",
        b"id,source,target,status\n1,a,b,active\n2,b,c,active\n3,a,c,revoked\n",
    ],
)
def test_pairs_in_a_csv(export: bytes) -> None:
    assert chain({"/registry/x.csv": export}) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "export",
    [
        [{"id": "D1", "delegator": "a", "delegate": "b"}, {"id": "D2", "delegator": "b", "delegate": "c"}],
        {"delegations": [{"id": "D1", "from": "a", "to": "b"}, {"id": "D2", "from": "b", "to": "c"}]},
        {"agents": [{"id": "a", "delegates_to": ["b"]}, {"id": "b", "delegates_to": ["c"]}, {"id": "c"}]},
        {"agents": [{"id": "a", "grants": [{"to": "b"}]}, {"id": "b", "grants": [{"to": "c"}]}]},
        {"delegations": {"a": ["b"], "b": ["c"]}},
    ],
)
def test_pairs_and_lists_in_a_json(export: Any) -> None:
    assert chain({"/registry/x.json": json.dumps(export).encode()}) == ["a", "b", "c"]


def test_unknown_column_names_are_understood_by_what_they_link() -> None:
    export = b"vollmacht,geber,nehmer\nV1,a,b\nV2,b,c\n"
    assert chain({"/fleet/agents.csv": AGENTS, "/fleet/papers.csv": export}) == ["a", "b", "c"]


def test_an_old_copy_does_not_count_where_the_operator_files_name_the_register() -> None:
    files = {
        "/AGENTS.md": b"| delegations | `/fleet/delegations.csv` |",
        "/fleet/agents.csv": AGENTS,
        "/fleet/delegations.csv": b"id,from,to\nD1,a,b\nD2,b,c\n",
        "/backup/delegations.csv": b"id,from,to\nD1,a,c\n",
    }
    assert chain(files) == ["a", "b", "c"]


def test_mail_is_no_registry() -> None:
    mail = json.dumps([{"id": "m1", "from": "x@y.example", "to": "z@y.example", "text": "hi"}]).encode()
    files = {
        "/inbox/mail.json": mail,
        "/fleet/agents.csv": AGENTS,
        "/fleet/links.csv": b"id,from,to\nD1,a,b\nD2,b,c\n",
    }
    assert chain(files) == ["a", "b", "c"]


def test_a_workspace_without_a_registry_says_so() -> None:
    with pytest.raises(ToolError, match="no registry export"):
        chain({"/fleet/agents.csv": AGENTS})


@pytest.mark.parametrize("theme", ["hub", "harbour"])
def test_the_registry_of_a_scenario_holds_exactly_the_delegations_that_are_true(theme: str) -> None:
    from shared.documents.delegations import find_delegations
    from shared.documents.operator_files import read_operator_files

    scenario, world = build(theme, seed=4, variation=2), grow(THEMES[theme], 4)
    true = {(d.giver, d.taker): d.id for d in world.delegations if d.ended is None}
    files = {path: scenario.blobs[sha] for task in scenario.tasks for path, sha in task.files.items()}
    tools = ReadOnlyTools(files)
    operator = read_operator_files(files, files.__getitem__)
    found, known = find_delegations(files, tools._document, operator)
    assert {(edge.giver, edge.taker): edge.record for edge in found} == true
    assert {agent.id for agent in world.agents} <= known
