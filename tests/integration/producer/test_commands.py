"""Commands as a script starts them: one JSON object on stdout, however they end."""

from __future__ import annotations

import fcntl
import json
import subprocess
from pathlib import Path

import pytest

from producer.local import announced, local_pool
from shared.settings import Settings
from tests.support.command import SCRIMMAGE, Terminal


def test_whoever_is_told_to_stop_after_the_result_prints_one_object(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    (tmp_path / ".scrimmage").mkdir()
    with (tmp_path / ".scrimmage" / "joined").open("a") as joined:
        fcntl.flock(joined, fcntl.LOCK_SH)  # as a command does that plays on this one's pool
        running = terminal.start("resume", "--json")
        running.wait_for_text("another command still plays on this pool")
        ended = running.interrupt()
    assert ended.code == 130, ended.err
    assert json.loads(ended.out) == {
        "runs": [], "in_flight": [], "refused": [], "unkept": [],
        "error": "interrupted", "kind": "Interrupted", "exit_code": 130,
    }  # fmt: skip


def test_no_go_comes_with_the_preflight_that_says_so(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, SCRIMMAGE_PROCESSES="1", SCRIMMAGE_THREADS="4")
    ended = terminal.run("final", "--rehearse", "--json")
    assert ended.code == 2, ended.err
    assert ended.json["kind"] == "SettingsError"
    assert "working tree" in ended.json["error"]
    said = {check["what"]: check["ok"] for check in ended.json["preflight"]}
    assert (said["account"], said["working tree"]) == (True, False)
    assert (ended.json["runs"], ended.json["receipt"]) == ([], None)
    assert list((tmp_path / ".scrimmage").glob("rehearsal-*")) == [], "nothing of it is left"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "run_x1"), "do you mean run_x1Y2z3?"),
        (("show", "another"), "`scrimmage status` shows those under way"),
        (("inspect", "./nothing"), "there is no file or folder './nothing'"),
        (("watch", "run_x1Y2z3"), "is over already: `scrimmage show run_x1Y2z3`"),
    ],
)
def test_a_name_that_leads_nowhere_says_what_may_be_meant(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    folder = tmp_path / "archive" / "arena" / "run_x1Y2z3"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"ref": "arena:run_x1Y2z3"}')
    ended = Terminal(tmp_path).run(*arguments)
    assert ended.code == 2
    assert words in ended.err


def test_a_second_pool_in_one_folder_is_told_of_the_first(tmp_path: Path) -> None:
    settings = Settings.load(_env_file=None, redis_url=None, data=tmp_path / ".scrimmage")
    with local_pool(settings, lambda _: None, workers=False) as local, announced(local.settings):
        ended = Terminal(tmp_path).run("up")
    assert ended.code == 2
    assert f"a pool is up in this folder already, at {local.settings.redis_url}" in ended.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a file that is always full")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("new-solver", "--help"), 1, "the output cannot be written: No space left on device"),
        (("status", "--json"), 1, "the output cannot be written: No space left on device"),
        (("show", "nobody", "--json"), 2, "is not in the archive"),
    ],
)
def test_an_output_that_cannot_be_written_is_told_without_a_traceback(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*SCRIMMAGE, *arguments],
            cwd=tmp_path,
            env=Terminal(tmp_path).environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert ended.returncode == code
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_worker_whose_redis_url_is_none_ends_at_once(tmp_path: Path) -> None:
    ended = Terminal(tmp_path, SCRIMMAGE_REDIS_URL="127.0.0.1:6379").run("worker")
    assert ended.code == 2
    assert "SCRIMMAGE_REDIS_URL: the pool's Redis needs a redis:// or rediss:// URL" in ended.err
