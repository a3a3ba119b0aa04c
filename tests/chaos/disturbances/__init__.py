"""Every way of breaking things, one module for each kind of thing that breaks."""

from tests.chaos.disturbances import clocks, commands, everything, networks, platforms, processes, redis

__all__ = ["clocks", "commands", "everything", "networks", "platforms", "processes", "redis"]
