"""The pool of a folder: who finds it, and what is left of one that crashed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from producer.archive import Archive
from producer.local import local_pool, running_pool
from shared.errors import SettingsError
from shared.settings import Settings


def settings(folder: Path) -> Settings:
    return Settings.load(_env_file=None, redis_url=None, data=folder)


def test_another_command_of_the_folder_finds_the_pool_that_runs_there(tmp_path: Path) -> None:
    with local_pool(settings(tmp_path), lambda _: None, workers=False) as local:
        found = running_pool(settings(tmp_path))
        assert found is not None
        assert found.redis_url == local.settings.redis_url
    assert running_pool(settings(tmp_path)) is None


def test_what_a_crashed_pool_left_is_not_taken_for_a_running_one(tmp_path: Path) -> None:
    with local_pool(settings(tmp_path), lambda _: None, workers=False) as local:
        url = local.settings.redis_url
    (tmp_path / "pool.json").write_text(json.dumps({"pid": os.getpid(), "redis_url": url}))
    assert running_pool(settings(tmp_path)) is None


def test_an_archive_that_cannot_be_written_is_named_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("a file, no folder")
    with pytest.raises(SettingsError, match=r"archive cannot be written: .*SCRIMMAGE_ARCHIVE"):
        Archive(tmp_path / "archive").check()
