"""Everything that a solver's author imports, in one place.

    from workers.api import Solution, Solver, Source, Task, TaskContext

A solver is registered by name: in the entry-point group ``scrimmage.solvers`` of its own distribution, or in
``SCRIMMAGE_SOLVERS=name=module:Class``. See docs/write-a-solver.md.
"""

from shared.errors import ComeBack, ToolError
from shared.models import Effect, EffectResult, Solution, Source, Task
from workers.context import Solver, TaskContext

__all__ = [
    "ComeBack",
    "Effect",
    "EffectResult",
    "Solution",
    "Solver",
    "Source",
    "Task",
    "TaskContext",
    "ToolError",
]
