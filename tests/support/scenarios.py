"""The emulator's scenarios, each built once for all tests of a process: one is half a second of computing."""

from __future__ import annotations

from functools import lru_cache

from emulators.arena.scenario import build as _build

build = lru_cache(maxsize=24)(_build)
"""As the emulator's own. Nobody changes what it gives."""
