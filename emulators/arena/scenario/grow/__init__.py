"""Grows a world from theme and seed."""

from emulators.arena.scenario.grow.world import grow

__all__ = ["grow"]
