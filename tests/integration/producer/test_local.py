"""The pool of a folder: who finds it, who waits for whom, and what is left of one that crashed."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from producer.archive import Archive
from producer.local import announced, any_pool, local_pool, running_pool
from shared.errors import SettingsError
from shared.pool.server import RedisServer
from shared.settings import Settings
from tests.support.playing import wait_for


def settings(folder: Path) -> Settings:
    return Settings.load(_env_file=None, redis_url=None, data=folder)


def quietly(_: str) -> None:
    """Nobody listens."""


def test_another_command_of_the_folder_finds_the_pool_once_it_has_workers(tmp_path: Path) -> None:
    with local_pool(settings(tmp_path), quietly, workers=False) as local:
        assert running_pool(settings(tmp_path)) is None
        with announced(local.settings):
            found = running_pool(settings(tmp_path))
            assert found is not None
            assert found.redis_url == local.settings.redis_url
    assert running_pool(settings(tmp_path)) is None


def test_a_redis_that_is_killed_is_started_again_with_its_data(tmp_path: Path) -> None:
    said: list[str] = []
    with local_pool(settings(tmp_path), said.append, workers=False) as local:
        patient = local.pool.redis
        patient.do(lambda client: client.set("kept", "yes"))
        patient.do(lambda client: client.waitaof(1, 0, 5000))
        os.kill(patient.do(lambda client: int(client.info()["process_id"])), signal.SIGKILL)
        assert patient.do(lambda client: client.get("kept")) == "yes"
        assert any("redis ended" in line for line in said)


def test_what_a_crashed_pool_left_is_not_taken_for_a_running_one(tmp_path: Path) -> None:
    with local_pool(settings(tmp_path), quietly, workers=False) as local:
        url = local.settings.redis_url
    (tmp_path / "pool.json").write_text(json.dumps({"pid": os.getpid(), "redis_url": url}))
    assert running_pool(settings(tmp_path)) is None


def test_a_pool_stays_up_for_those_that_joined_it(tmp_path: Path) -> None:
    said: list[str] = []
    joined, leave, seen = threading.Event(), threading.Event(), []

    def other() -> None:
        with any_pool(settings(tmp_path), quietly) as local:
            seen.append(local.own)
            joined.set()
            leave.wait(20)
            seen.append(local.pool.ledger.runs())

    guest = threading.Thread(target=other)

    def let_go() -> None:
        wait_for(lambda: any("another command still plays" in line for line in said), 10, "it waits")
        leave.set()

    with any_pool(settings(tmp_path), said.append) as local, announced(local.settings):
        guest.start()
        assert joined.wait(10)
        threading.Thread(target=let_go).start()
    guest.join(10)
    assert seen == [False, []]
    assert RedisServer.running(tmp_path / "redis") is None


def test_a_command_that_comes_while_another_begins_or_ends_waits_for_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.pool.folder._LOCK_SECONDS", 0.2)
    said: list[str] = []
    free = threading.Event()
    taken = threading.Event()

    def other() -> None:
        with local_pool(settings(tmp_path), quietly, workers=False):
            taken.set()
            free.wait(20)

    holder = threading.Thread(target=other)
    holder.start()
    assert taken.wait(10)

    def let_go() -> None:
        wait_for(lambda: bool(said), 10, "it says so")
        free.set()

    threading.Thread(target=let_go).start()
    with any_pool(settings(tmp_path), said.append) as local:
        assert local.own
    holder.join(10)
    assert "just now: waiting for it" in said[0]


def test_a_data_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file, no folder")
    with (
        pytest.raises(SettingsError, match="cannot write to the data folder"),
        any_pool(settings(tmp_path / "data"), quietly),
    ):
        pass


def test_an_archive_that_cannot_be_written_is_named_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("a file, no folder")
    with pytest.raises(
        SettingsError, match=r"archive folder .*archive cannot be written: .*SCRIMMAGE_ARCHIVE"
    ):
        Archive(tmp_path / "archive").check()
