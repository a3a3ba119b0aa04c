"""Platforms by name: entry points of ``scrimmage.platforms``, and the setting ``SCRIMMAGE_PLATFORMS``.

Nothing is imported until a platform is asked for, so one that is broken stands in nobody's way.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from shared.errors import SettingsError
from shared.platforms.base import Platform
from shared.settings import Settings, named_paths

if TYPE_CHECKING:
    from shared.pool.pool import Pool

GROUP = "scrimmage.platforms"


def platforms(settings: Settings) -> Mapping[str, str]:
    """Name → ``module:Class`` of every platform; the setting wins over an entry point of the same name."""
    return {point.name: point.value for point in entry_points(group=GROUP)} | named_paths(settings.platforms)


def create(name: str, settings: Settings, pool: Pool) -> Platform:
    """Make the platform called ``name``.

    Raises:
        SettingsError: no such platform, or its module or class cannot be imported.
    """
    known = platforms(settings)
    if name not in known:
        raise SettingsError(
            f"no platform is called {name!r}; known: {', '.join(sorted(known)) or 'none'} "
            "(add one with SCRIMMAGE_PLATFORMS=name=module:Class)"
        )
    module, _, class_name = known[name].partition(":")
    try:
        made = getattr(importlib.import_module(module), class_name)
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"platform {name!r}: cannot import {known[name]}: {error}") from error
    platform: Platform = made.create(settings, pool)
    return platform
