"""An arena: everything that one emulator process holds, put together from its options."""

from __future__ import annotations

from typing import Any

from emulators.arena.cost import CostBook
from emulators.arena.options import ArenaOptions
from emulators.arena.runs import Runs
from emulators.arena.scenarios import Build, Scenarios
from emulators.arena.teams import Teams
from emulators.arena.toolbox import Toolbox
from emulators.arena.views import Views
from emulators.books import Books
from emulators.clock import Clock
from emulators.faults import FaultFile, FaultPlan
from emulators.limiter import Limiter


class Arena:
    """The parts, by name; the API and the control endpoints work on them.

    Args:
        options: how it was started.
        build: makes a scenario from theme, seed and variation.
        clock: tests inject their own; the skew of the choices is already in it.

    Raises:
        SettingsError: the file of faults is wrong.
    """

    def __init__(self, options: ArenaOptions, build: Build, clock: Clock) -> None:
        self.options = options
        self.clock = clock
        self.teams = Teams(options)
        self.limiter = Limiter(options.rate, options.burst, clock.ticks, lifted=not options.limit)
        self.books = Books(options.rate, options.burst, clock)
        self.costs = CostBook(clock, options.cost_lag)
        self.runs = Runs(options, clock, self.costs, Scenarios(build))
        self.toolbox = Toolbox(options.choices)
        self.views = Views(options)
        self.faults = FaultPlan(FaultFile.read(options.faults)) if options.faults else None

    def report(self) -> dict[str, Any]:
        """The books, with the runs that are still open."""
        unfinished = [run.run_id for run in self.runs.all() if run.active]
        return {**self.books.report(), "unfinished_runs": unfinished}
