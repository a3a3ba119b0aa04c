"""A task's workspace as a solver sees it, over a real pool."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from emulators.arena.scenario import Scenario, build
from shared.deadline import Deadline
from shared.documents.sandbox import Parsers
from shared.errors import DeadlinePassed, ToolError, Unavailable, Unreadable
from shared.models import Source
from shared.pool.pool import Pool
from shared.settings import Settings
from shared.workspace.parse_cache import ParseCache
from shared.workspace.workspace import Workspace, Workspaces


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return build("hub", seed=2, variation=7)


@pytest.fixture(scope="module")
def parsers() -> Iterator[Parsers]:
    with Parsers() as parsers:
        yield parsers


@pytest.fixture
def workspaces(redis_url: str, parsers: Parsers) -> Workspaces:
    return Workspaces(ParseCache.over(Pool.connect(Settings(redis_url=redis_url)), parsers))


def opened(workspaces: Workspaces, scenario: Scenario, task: int = 0) -> Workspace:
    return workspaces.open(scenario.tasks[task].files, scenario.blobs.__getitem__, Deadline.after(60))


def assert_every_expected_source_is_found(workspaces: Workspaces, scenario: Scenario) -> None:
    for number, task in enumerate(scenario.tasks):
        workspace = opened(workspaces, scenario, number)
        checked = workspace.check_sources(task.expected_sources)
        assert checked.notes == ()
        assert checked.sources == tuple(dict.fromkeys(task.expected_sources))
        for source in task.expected_sources:
            text = workspace.at(source)
            assert text or source.path.endswith((".png", ".jpg")), source


def test_every_expected_source_of_a_seed_is_found_with_its_text(
    workspaces: Workspaces, scenario: Scenario
) -> None:
    assert_every_expected_source_is_found(workspaces, scenario)
    assert_every_expected_source_is_found(workspaces, build("harbour", seed=3, variation=5))


@pytest.mark.optin
@pytest.mark.parametrize("theme", ["hub", "harbour"])
@pytest.mark.parametrize("seed", range(10))
def test_every_expected_source_of_twenty_seeds_is_found(
    workspaces: Workspaces, theme: str, seed: int
) -> None:
    assert_every_expected_source_is_found(workspaces, build(theme, seed, variation=3 * seed + 1))


def test_documents_tables_search_and_tools_are_local(workspaces: Workspaces, scenario: Scenario) -> None:
    workspace = opened(workspaces, scenario)
    assert "/AGENTS.md" in workspace.paths()
    assert workspace.bytes("AGENTS.md").startswith(b"#")
    assert workspace.document("/AGENTS.md").format == "md"
    assert workspace.tools.call("read", {"path": "/AGENTS.md"})["text"].startswith("#")
    count = workspace.sql("select count(*) n from events").records()[0]["n"]
    assert count == workspace.tools.call("query_logs", {})["total"]
    assert "events (" in workspace.profile()


def test_search_finds_text_of_every_format_with_the_place_to_cite(
    workspaces: Workspaces, scenario: Scenario
) -> None:
    formats = set()
    for number in range(len(scenario.tasks)):
        workspace = opened(workspaces, scenario, number)
        for path in workspace.paths():
            document = workspace.document(path)
            block = next((b for b in document.blocks if b.citable and len(b.text) > 12), None)
            if block is None:
                continue
            word = max(block.text.split(), key=len)
            hits = workspace.search(word, path, limit=1000)
            assert block.locator.source(path) in {hit.source for hit in hits}
            formats.add(document.format)
    assert formats >= {"md", "csv", "json", "jsonl", "pdf", "docx"}


def test_tasks_with_the_same_files_share_what_is_derived(workspaces: Workspaces, scenario: Scenario) -> None:
    first, second = opened(workspaces, scenario), opened(workspaces, scenario)
    assert first is not second
    assert first._contents is second._contents
    assert opened(workspaces, scenario, 1)._contents is not first._contents


def test_shared_contents_are_loaded_in_the_way_of_the_task_that_asks(
    workspaces: Workspaces, scenario: Scenario
) -> None:
    def gone(sha: str) -> bytes:
        raise Unavailable("that run is over")

    files = scenario.tasks[0].files
    over = workspaces.open(files, gone, Deadline.after(60))
    with pytest.raises(Unavailable):
        over.bytes("/AGENTS.md")
    with pytest.raises(Unavailable):
        over.tools.call("query_logs", {})
    alive = opened(workspaces, scenario)
    assert alive.tools.call("query_logs", {})["total"] > 0
    assert alive.bytes("/AGENTS.md")


def test_a_query_is_bounded_by_the_task_that_asks(workspaces: Workspaces, scenario: Scenario) -> None:
    files = scenario.tasks[0].files
    late = workspaces.open(files, scenario.blobs.__getitem__, Deadline.after(0))
    with pytest.raises(DeadlinePassed):
        late.sql("select sum((i * j) % 7) from range(3000000) a(i), range(1000000) b(j)")
    assert opened(workspaces, scenario).sql("select 1").rows == ((1,),)


def test_a_file_that_is_too_large_spoils_neither_the_tree_nor_the_others(workspaces: Workspaces) -> None:
    def load(sha: str) -> bytes:
        if sha == "huge":
            raise Unreadable("999999999 bytes: too large")
        return b"a,b\n1,2\n"

    workspace = workspaces.open({"/a.csv": "small", "/big.csv": "huge"}, load, Deadline.after(30))
    assert [entry["size"] for entry in workspace.tools.call("tree", {})["entries"]] == [8, None]
    assert workspace.document("/big.csv").unreadable == "999999999 bytes: too large"
    assert workspace.sql("select b from a").rows == ((2,),)
    with pytest.raises(ToolError, match="too large"):
        workspace.tools.call("read", {"path": "/big.csv"})


def test_an_unknown_path_is_answered_with_the_nearest(workspaces: Workspaces, scenario: Scenario) -> None:
    with pytest.raises(ToolError, match=r"did you mean /AGENTS\.md"):
        opened(workspaces, scenario).document("/AGENT.md")


def test_a_source_that_does_not_exist_has_no_text(workspaces: Workspaces, scenario: Scenario) -> None:
    workspace = opened(workspaces, scenario)
    assert workspace.at(Source(path="/AGENTS.md", line=99999)) is None
    assert workspace.at(Source(path="/nowhere.md", line=1)) is None


def test_old_contents_are_let_go(redis_url: str, parsers: Parsers, scenario: Scenario) -> None:
    cache = ParseCache.over(Pool.connect(Settings(redis_url=redis_url)), parsers)
    few = Workspaces(cache, keep=2)
    first = opened(few, scenario)._contents
    opened(few, scenario, 1)
    opened(few, scenario, 2)
    assert opened(few, scenario)._contents is not first


def test_threads_may_use_one_workspace(workspaces: Workspaces, scenario: Scenario) -> None:
    workspace = opened(workspaces, scenario)
    counts: list[object] = []
    threads = [
        threading.Thread(target=lambda: counts.append(workspace.sql("select count(*) from events").rows))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == 6
    assert len(set(map(str, counts))) == 1
