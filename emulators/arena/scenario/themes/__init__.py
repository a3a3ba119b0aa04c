"""The themes, by name. ``hub`` serves dev runs, ``harbour`` final runs."""

from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.themes.harbour import HARBOUR
from emulators.arena.scenario.themes.hub import HUB

THEMES: dict[str, Theme] = {theme.name: theme for theme in (HUB, HARBOUR)}
