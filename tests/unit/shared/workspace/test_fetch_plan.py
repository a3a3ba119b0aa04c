from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from shared.workspace.fetch_plan import BUNDLE_BYTES, Fetch, FetchKind, plan

FILES = [f"sha-{number}" for number in range(9)]
BY_TASK = st.dictionaries(
    st.sampled_from(["t01", "t02", "t03", "t04", "t05"]),
    st.sets(st.sampled_from(FILES)).map(lambda shas: {f"/{sha}": sha for sha in shas}),
)


def run_of(tasks: int, common: int, own: int) -> dict[str, dict[str, str]]:
    """A run whose tasks share some files and have some of their own."""
    shared = {f"/common/{n}": f"common-{n}" for n in range(common)}
    return {
        f"t{task:02d}": shared | {f"/own/{n}": f"own-{task}-{n}" for n in range(own)}
        for task in range(1, tasks + 1)
    }


def shas(by_task: dict[str, dict[str, str]]) -> set[str]:
    return {sha for files in by_task.values() for sha in files.values()}


@given(BY_TASK, st.sets(st.sampled_from(FILES)))
def test_every_file_that_is_missing_comes_exactly_once(
    by_task: dict[str, dict[str, str]], cached: set[str]
) -> None:
    fetches = plan(by_task, {}, cached)

    brought = [sha for fetch in fetches for sha in fetch.brings]
    assert sorted(brought) == sorted(shas(by_task) - cached)
    for fetch in fetches:
        assert fetch.brings <= set(by_task[fetch.task_id].values())
        assert fetch.id == (fetch.task_id if fetch.kind is FetchKind.BUNDLE else next(iter(fetch.brings)))


@given(BY_TASK, st.sets(st.sampled_from(FILES)))
def test_no_more_than_one_request_and_one_per_task_with_files_of_its_own(
    by_task: dict[str, dict[str, str]], cached: set[str]
) -> None:
    common = set.intersection(*(set(files.values()) for files in by_task.values())) if by_task else set()
    with_own = sum(bool(set(files.values()) - common - cached) for files in by_task.values())

    assert len(plan(by_task, {}, cached)) <= 1 + with_own


@given(BY_TASK, st.sets(st.sampled_from(FILES)))
def test_greed_costs_at_most_one_request_more_than_the_best_plan(
    by_task: dict[str, dict[str, str]], cached: set[str]
) -> None:
    missing = shas(by_task) - cached
    bundles = [set(files.values()) & missing for files in by_task.values()]
    best = min(
        count + len(missing - set().union(*chosen))
        for count in range(len(bundles) + 1)
        for chosen in combinations(bundles, count)
    )

    assert best <= len(plan(by_task, {}, cached)) <= best + 1


@given(st.integers(1, 30), st.integers(0, 40), st.integers(0, 3))
def test_a_cold_cache_costs_one_request_per_task_with_files_of_its_own(
    tasks: int, common: int, own: int
) -> None:
    fetches = plan(run_of(tasks, common, own), {}, ())
    alone = tasks if own else min(common, 1)
    assert len(fetches) <= alone + (own == 1 and common > 0)


def test_a_warm_cache_costs_nothing() -> None:
    by_task = run_of(30, 40, 2)
    assert plan(by_task, {}, shas(by_task)) == []


def test_what_is_cached_decides_which_requests_are_made() -> None:
    by_task = run_of(3, 10, 2)
    common = {f"common-{n}" for n in range(10)}
    cached = shas(by_task) - {"own-2-0", "own-2-1", "own-3-0"}

    assert plan(by_task, {}, cached | common) == [
        Fetch(FetchKind.BUNDLE, "t02", "t02", frozenset({"own-2-0", "own-2-1"})),
        Fetch(FetchKind.BLOB, "own-3-0", "t03", frozenset({"own-3-0"})),
    ]


def test_the_same_listing_gives_the_same_plan_whatever_its_order() -> None:
    by_task = run_of(5, 10, 2)
    turned = {task: dict(reversed(files.items())) for task, files in reversed(by_task.items())}
    assert plan(by_task, {}, ()) == plan(turned, {}, ())


def test_of_equal_bundles_the_lighter_is_taken() -> None:
    by_task = {"t01": {"/a": "a", "/b": "b", "/old": "old"}, "t02": {"/a": "a", "/b": "b"}}
    assert [fetch.id for fetch in plan(by_task, {"old": 10_000}, {"old"})] == ["t02"]


def test_a_bundle_that_is_too_heavy_is_not_asked_for() -> None:
    by_task = run_of(1, 2, 0)
    fetches = plan(by_task, {"common-0": BUNDLE_BYTES, "common-1": 1}, ())
    assert [fetch.kind for fetch in fetches] == [FetchKind.BLOB, FetchKind.BLOB]
