"""`agent`: the model proposes a plan, code carries it out. See docs/agent.md."""

from workers.solvers.agent.agent import Agent
from workers.solvers.agent.policy import Effort, Policy

__all__ = ["Agent", "Effort", "Policy"]
