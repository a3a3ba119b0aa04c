"""What `doctor` finds in the settings themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from producer.cli.doctor import _misspelt, _origins
from shared.settings import Settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_variable_that_nothing_reads_is_named_beside_the_one_that_was_meant(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".env").write_text("SCRIMMAGE_ARENA_KEYY=arena_x\nSCRIMMAGE_ARENA_KEY=arena_y\n")
    monkeypatch.setenv("SCRIMMAGE_THREAD", "4")
    monkeypatch.setenv("SCRIMMAGE_EMULATOR_PASSWORD", "for another command")
    assert [check.detail for check in _misspelt()] == [
        "SCRIMMAGE_ARENA_KEYY is not read; do you mean SCRIMMAGE_ARENA_KEY?",
        "SCRIMMAGE_THREAD is not read; do you mean SCRIMMAGE_THREADS?",
    ]


def test_each_setting_says_where_it_came_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("ARENA_API_KEY=arena_y\n")
    monkeypatch.setenv("SCRIMMAGE_THREADS", "4")
    origins = dict(_origins(Settings.load()))
    assert origins["arena_key"] == ".env ARENA_API_KEY"
    assert origins["threads"] == "environment SCRIMMAGE_THREADS"
    assert origins["lease_seconds"] == "default"
