"""Settings from the environment, and what of them may be shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shared.errors import SettingsError
from shared.settings import Settings, without_secrets


def test_an_empty_variable_is_an_unset_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docker compose passes on what nobody has set."""
    for name in ("MODEL", "MODEL_KEY", "BROKER_URL", "MODEL_PRICE", "ARENA_URL"):
        monkeypatch.setenv(f"SCRIMMAGE_{name}", "")
    settings = Settings.load(_env_file=None)
    assert settings.model is settings.model_key is settings.broker_url is settings.model_price is None
    assert settings.arena_url.startswith("https://")


def test_a_wrong_setting_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIMMAGE_ARENA_URL", "https://user:hunter22@arena.example")
    with pytest.raises(SettingsError, match=r"SCRIMMAGE_ARENA_URL: .*must not carry a user") as wrong:
        Settings.load(_env_file=None)
    assert "hunter22" not in str(wrong.value)


def test_a_cost_cap_below_the_floor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIMMAGE_ARENA_COST_FLOOR", "0.2")
    monkeypatch.setenv("SCRIMMAGE_ARENA_COST_CAP", "0.1")
    with pytest.raises(
        SettingsError, match=r"SCRIMMAGE_ARENA_COST_CAP: .*above SCRIMMAGE_ARENA_COST_FLOOR, 0\.2"
    ):
        Settings.load(_env_file=None)


def test_each_setting_stands_in_one_row_of_the_documents() -> None:
    docs = Path(__file__).parents[3] / "docs"
    rows = "".join((docs / name).read_text(encoding="utf-8") for name in ("operate.md", "model.md"))
    listed = re.findall(r"^\| `SCRIMMAGE_(\w+)`", rows, re.MULTILINE)
    assert sorted(listed) == sorted(name.upper() for name in Settings.model_fields)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:pass%40word@host:6379/0", "redis://:***@host:6379/0"),
        ("rediss://user:secret@host/0?ssl_ca_certs=/ca.pem", "rediss://user:***@host/0?ssl_ca_certs=/ca.pem"),
        ("redis://host/0?password=secret", "redis://host/0?password=***"),
        (
            "sentinel://:one1@a:26379;sentinel://:two2@b:26379",
            "sentinel://:***@a:26379;sentinel://:***@b:26379",
        ),
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("redis://[broken", "redis://[broken"),
    ],
)
def test_a_url_is_shown_without_its_passwords(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


@pytest.mark.parametrize("value", ["arena_x\n", "  arena_x", "arena_x\r\n", '"arena_x"', "'arena_x' "])
def test_white_space_and_quotes_around_a_key_are_left_out(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIMMAGE_ARENA_KEY", value)
    key = Settings.load(_env_file=None).arena_key
    assert key is not None
    assert key.get_secret_value() == "arena_x"


@pytest.mark.parametrize("value", ["arena_x\narena_y", "arena_x y", "arena_ä", " ", '""'])
def test_what_can_be_no_key_is_named_and_not_shown(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_API_KEY", value)
    with pytest.raises(SettingsError, match="SCRIMMAGE_ARENA_KEY: is no key") as wrong:
        Settings.load(_env_file=None)
    assert "arena_x" not in str(wrong.value)
    assert "arena_ä" not in str(wrong.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"SCRIMMAGE_THREADS=4\nmy key: arena_secret\n", r"\.env, line 2: expected NAME=value"),
        (b"\xff\xfeS\x00C\x00", r"\.env cannot be read"),
    ],
)
def test_a_dotenv_file_that_cannot_be_read_is_an_error(text: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(text)
    with pytest.raises(SettingsError, match=words) as wrong:
        Settings.load(_env_file=tmp_path / ".env")
    assert "arena_secret" not in str(wrong.value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("127.0.0.1:8700/api/v1", r"must be an http\(s\) URL with a host"),
        ("http://arena:99999/api/v1", "Port out of range"),
        ("http://arena:0/api/v1", "must have a port that can be connected to"),
        ("http://arena/api/v1?key=x", r"no \?query"),
        ("http://me:secret@arena/api/v1", "must not carry a user or password"),
    ],
)
def test_what_can_be_no_url_of_a_platform_is_named(
    value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIMMAGE_ARENA_URL", value)
    with pytest.raises(SettingsError, match=f"SCRIMMAGE_ARENA_URL: .*{words}"):
        Settings.load(_env_file=None)


def test_a_url_is_taken_without_what_copying_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIMMAGE_ARENA_URL", " http://arena/api/v1/\n")
    assert Settings.load(_env_file=None).arena_url == "http://arena/api/v1"
