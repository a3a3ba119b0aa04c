from __future__ import annotations

from types import SimpleNamespace

import pytest

from shared.errors import SettingsError
from shared.platforms import registry
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool.pool import Pool
from shared.settings import Settings


class Toy:
    """A platform as a setting names it."""

    @classmethod
    def create(cls, settings: Settings, pool: Pool) -> Toy:
        return cls()


def settings(platforms: str = "") -> Settings:
    return Settings.load(redis_url="redis://127.0.0.1:1/0", platforms=platforms)


def make(name: str, platforms: str = "") -> object:
    chosen = settings(platforms)
    with Pool.connect(chosen) as pool:
        return registry.create(name, chosen, pool)


def test_the_arena_is_known_by_its_entry_point() -> None:
    assert isinstance(make("arena"), ArenaPlatform)


def test_a_setting_adds_platforms_and_wins_over_an_entry_point() -> None:
    here = f"{__name__}:Toy"
    known = registry.platforms(settings(f" toy = {here} , arena={here},"))
    assert known["toy"] == known["arena"] == here
    assert type(make("toy", f"toy={here}")).__name__ == "Toy"


@pytest.mark.parametrize("text", ["toy", "toy=", "toy=module", "=module:Class", "toy=:Class", "toy=module:"])
def test_a_setting_that_is_written_wrongly_is_named(text: str) -> None:
    with pytest.raises(SettingsError, match="SCRIMMAGE_PLATFORMS"):
        registry.platforms(settings(text))


def test_an_unknown_platform_is_told_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"'moon'; known: .*arena"):
        make("moon")


@pytest.mark.parametrize("path", ["nowhere.at_all:Class", "shared.models:Nothing"])
def test_an_import_that_fails_names_module_and_reason(path: str) -> None:
    with pytest.raises(SettingsError, match=f"cannot import {path}: .*(No module|no attribute)"):
        make("broken", f"broken={path}")


def test_a_missing_key_is_told_when_it_is_needed() -> None:
    keyless = settings().model_copy(update={"arena_key": None})
    platform = ArenaPlatform.create(keyless, SimpleNamespace(redis=None))  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="SCRIMMAGE_ARENA_KEY"):
        platform.account()
