"""Which requests bring the files of a run: as few as possible. Pure.

A bundle (one task's workspace as a zip) brings all files of that task in one request, a single blob brings
one. Where every task has some files of its own beside those that all share, the plan is one bundle or blob
per task that lacks something, and the shared files come with the first of them: never more than one request
plus one per task that has files of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

BUNDLE_BYTES = 128 * 2**20
"""A bundle whose files are larger together is not asked for: it would be held in memory as a whole."""


class FetchKind(StrEnum):
    BUNDLE = "bundle"
    BLOB = "blob"


@dataclass(frozen=True)
class Fetch:
    """One request for files.

    Args:
        kind: a task's bundle, or one blob.
        id: the task's id, or the blob's sha256.
        task_id: a task that has all of ``brings``.
        brings: sha256 of the files for which the request is made.
    """

    kind: FetchKind
    id: str
    task_id: str
    brings: frozenset[str]


def plan(
    by_task: Mapping[str, Mapping[str, str]],
    sizes: Mapping[str, int],
    cached: Collection[str],
) -> list[Fetch]:
    """The fetches that bring every file of ``by_task`` that is not cached.

    Greedy: the bundle that brings most is taken while it brings more than one file; what is left comes as
    single blobs. The same arguments give the same plan.

    Args:
        by_task: path → sha256 of every task.
        sizes: bytes by sha256, where known.
        cached: sha256 that need no request.
    """
    held = frozenset(cached)
    missing = {task: set(files.values()) - held for task, files in sorted(by_task.items())}
    weights = {task: sum(sizes.get(sha, 0) for sha in files.values()) for task, files in by_task.items()}
    candidates = {task for task, bytes_ in weights.items() if bytes_ <= BUNDLE_BYTES}
    fetches: list[Fetch] = []
    while candidates:
        best = min(candidates, key=lambda task: (-len(missing[task]), weights[task], task))
        brings = frozenset(missing[best])
        if len(brings) < 2:
            break
        fetches.append(Fetch(FetchKind.BUNDLE, best, best, brings))
        for lacking in missing.values():
            lacking.difference_update(brings)
    singles = {sha: task for task, lacking in reversed(missing.items()) for sha in lacking}
    fetches += [Fetch(FetchKind.BLOB, sha, task, frozenset({sha})) for sha, task in sorted(singles.items())]
    return fetches
