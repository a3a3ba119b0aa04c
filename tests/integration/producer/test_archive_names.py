"""Names that a platform gives lead nowhere but into the archive folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from producer.archive import Archive
from producer.archiving import save
from shared.errors import UsageError
from shared.models import Run, RunRef, Task
from shared.pool.listings import Listing, Listings
from shared.pool.pool import Pool
from tests.support.ledger import lease_run, open_run

HOSTILE = ("../../evil", "..", ".", "/etc/evil", "a/../../evil", "..\\evil", "x" * 190, "evil.\u202efdp")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The archive folder, deep enough that a name which climbs out stays in the test's own folder."""
    return tmp_path / "one" / "two" / "three" / "archive"


def test_hostile_task_ids_never_leave_the_archive_folder(pool: Pool, root: Path, tmp_path: Path) -> None:
    tasks = tuple(Task(run_id="run_1", task_id=task_id) for task_id in HOSTILE)
    ref = open_run(pool.ledger, Run(platform="arena", run_id="run_1", tasks=tasks))
    for task_id in HOSTILE:
        pool.transcripts.append(ref, task_id, [{"event": "log", "message": task_id}])
    pool.ledger.failed(lease_run(pool.ledger, ref), "over")

    archive = Archive(root)
    save(pool, archive, ref)
    assert [path for path in tmp_path.rglob("*") if path.is_file() and root not in path.parents] == []
    read = archive.load(ref)
    assert {task_id: read.transcript(task_id)[0]["message"] for task_id in HOSTILE} == dict(
        zip(HOSTILE, HOSTILE, strict=True)
    )


def test_hostile_paths_of_a_workspace_are_kept_by_hash_alone(pool: Pool, root: Path, tmp_path: Path) -> None:
    sha = pool.blobs.put(b"contents")
    ref = open_run(pool.ledger)
    paths = dict.fromkeys(("../../evil", "/etc/evil", "a\x00b", "C:\\evil"), sha)
    Listings(pool.redis).put(ref, Listing(by_task={"t1": paths}, sizes={sha: 8}))
    pool.ledger.failed(lease_run(pool.ledger, ref), "over")

    save(pool, Archive(root), ref)
    assert sha == hashlib.sha256(b"contents").hexdigest()
    assert (root / "files" / sha[:2] / sha).read_bytes() == b"contents"
    assert [path for path in tmp_path.rglob("*") if "evil" in path.name] == []


def test_half_characters_survive_the_archive(pool: Pool, root: Path) -> None:
    task = Task(run_id="run_1", task_id="t1")
    ref = open_run(pool.ledger, Run(platform="arena", run_id="run_1", tasks=(task,)))
    pool.transcripts.append(ref, "t1", [{"event": "log", "message": "\ud800 \u2028 \x85"}])
    pool.ledger.failed(lease_run(pool.ledger, ref), "over")
    save(pool, Archive(root), ref)
    assert Archive(root).load(ref).transcript("t1")[0]["message"] == "\ud800 \u2028 \x85"


def test_a_damaged_run_stands_in_no_others_way(pool: Pool, root: Path) -> None:
    ref = open_run(pool.ledger)
    pool.ledger.failed(lease_run(pool.ledger, ref), "over")
    archive = Archive(root)
    save(pool, archive, ref)
    damaged = archive.folder(ref).parent / "run_damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    assert archive.find(ref.run_id) == archive.find(str(ref)) == ref
    with pytest.raises(UsageError, match="run_damaged is damaged"):
        archive.find("run_damaged")
    for unknown in ("", "*", "toy:" + ref.run_id, ref.run_id[:-1]):
        with pytest.raises(UsageError, match="is not in the archive"):
            archive.find(unknown)


@pytest.mark.parametrize("run_id", ["../evil", "..", "a/b", "run\x00"])
def test_a_run_with_a_hostile_id_cannot_even_be_named(run_id: str) -> None:
    with pytest.raises(ValueError, match="run_id"):
        RunRef(platform="arena", run_id=run_id)
