"""Platforms and solvers by name. Requests and jobs carry the name; what it means is decided on each machine.

A name comes from an entry point (groups ``scrimmage.platforms`` and ``scrimmage.solvers``) or from a setting
(``SCRIMMAGE_PLATFORMS``, ``SCRIMMAGE_SOLVERS``). Nothing is imported until it is asked for, so one that is
broken stands in nobody's way.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, Literal

from shared.errors import SettingsError

What = Literal["platform", "solver"]


def registered(what: What, setting: str) -> dict[str, str]:
    """Name → ``module:Class`` of all that are known; the setting wins over an entry point of that name."""
    return {point.name: point.value for point in entry_points(group=f"scrimmage.{what}s")} | parse(setting)


def path(what: What, name: str, known: Mapping[str, str]) -> str:
    """``module:Class`` of what is called ``name``.

    Args:
        known: from ``registered``.

    Raises:
        SettingsError: no such name; says which there are.
    """
    if name not in known:
        raise SettingsError(
            f"no {what} is called {name!r}; known: {', '.join(sorted(known)) or 'none'} "
            f"(add one with SCRIMMAGE_{what.upper()}S=name=module:Class)"
        )
    return known[name]


def load(what: What, name: str, known: Mapping[str, str]) -> Any:
    """Import the class called ``name``.

    Raises:
        SettingsError: no such name, or its module or class cannot be found.
        Exception: whatever else the module raises while it is imported.
    """
    where = path(what, name, known)
    module, _, class_name = where.partition(":")
    try:
        return getattr(importlib.import_module(module), class_name)
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"{what} {name!r}: cannot import {where}: {error}") from error


def parse(setting: str) -> dict[str, str]:
    """``name=module:Class,…`` as name → ``module:Class``. Raises ValueError for anything else."""
    found = {}
    for item in filter(None, (part.strip() for part in setting.split(","))):
        name, _, path = (part.strip() for part in item.partition("="))
        module, _, class_name = path.partition(":")
        if not (name and module and class_name):
            raise ValueError(f"expected name=module:Class, got {item!r}")
        found[name] = path
    return found
