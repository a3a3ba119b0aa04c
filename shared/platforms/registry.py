"""Platforms by name: entry points and ``SCRIMMAGE_PLATFORMS`` (``shared.registered``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shared import registered
from shared.platforms.base import Platform
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.pool.pool import Pool


def platforms(settings: Settings) -> Mapping[str, str]:
    """Name → ``module:Class`` of every platform."""
    return registered.registered("platform", settings.platforms)


def create(name: str, settings: Settings, pool: Pool) -> Platform:
    """Make the platform called ``name``.

    Raises:
        SettingsError: no such platform, or its module or class cannot be imported.
    """
    platform: Platform = registered.load("platform", name, platforms(settings)).create(settings, pool)
    return platform
