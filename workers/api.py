"""Everything that a solver's author imports, in one place.

    from workers.api import Solution, Solver, Source, Task, TaskContext

A solver is registered by name: in the entry-point group ``scrimmage.solvers`` of its own distribution, or in
``SCRIMMAGE_SOLVERS=name=module:Class``. See docs/write-a-solver.md.
"""

from shared.errors import CapReached, ComeBack, ToolError
from shared.models import Effect, EffectResult, Solution, Source, Task
from workers.context import Solver, TaskContext
from workers.model import Model, Reply, assistant, system, tool, tool_result, user

__all__ = [
    "CapReached",
    "ComeBack",
    "Effect",
    "EffectResult",
    "Model",
    "Reply",
    "Solution",
    "Solver",
    "Source",
    "Task",
    "TaskContext",
    "ToolError",
    "assistant",
    "system",
    "tool",
    "tool_result",
    "user",
]
