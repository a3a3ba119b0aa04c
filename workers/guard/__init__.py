"""Decides whether an effect may leave, and what a task calls for. Every decision names its rule.

``Guard`` stands between each solution and the platform, whatever solver made it: hard rules alone.
``Request`` is for solvers that let a model plan: it also refuses what the task itself does not call for,
since text in a workspace is data and gives no orders.
"""

from workers.guard.effects import DRAFTS, Guard, Verdict
from workers.guard.hard_rules import HardRules
from workers.guard.request import Refusal, Request

__all__ = ["DRAFTS", "Guard", "HardRules", "Refusal", "Request", "Verdict"]
