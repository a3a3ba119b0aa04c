"""An arena emulator as a child process: ``python -m emulators.arena`` (`emulators.server.ChildServer`)."""

from emulators.arena.app import open_arena
from emulators.arena.options import ArenaOptions
from emulators.server import serve_child

serve_child(lambda values: open_arena(ArenaOptions.of(values)))
