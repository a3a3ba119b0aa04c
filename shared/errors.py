"""Every error of Scrimmage, in one tree, sorted by what the caller can do about it.

====================  ==========================================================  =========
error                 what the caller can do                                      CLI exits
====================  ==========================================================  =========
``UsageError``        call again with other arguments                             2
``SettingsError``     fix the named setting or file                               2
``Refused``           nothing: the platform said no (``status`` says how)         3
``Unavailable``       wait, then repeat: nothing was decided by this failure      1
``Malformed``         the same; where it is always so, that is no such platform   1
``Unclear``           look at the platform: the write may or may not have landed  1
``DeadlinePassed``    stop: there is no time left for it                          1
``LeaseLost``         drop the work: somebody else owns the task by now           -
``Unreadable``        go on without the document; ``reason`` says why             -
``CapReached``        make do without further model calls                         -
``ToolError``         read the message and call the tool differently              -
``SolverFault``       count an attempt: the solver raised or returned rubbish     -
====================  ==========================================================  =========
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ScrimmageError(Exception):
    """The root. A message names what was wrong, where, and what to do."""


class UsageError(ScrimmageError):
    """The call cannot be carried out as it was written."""


class SettingsError(ScrimmageError):
    """A setting or a file of the user is missing or wrong."""


class Refused(ScrimmageError):
    """The platform answered, understood, and said no (a 4xx that repeating does not change).

    Args:
        message: the platform's own words, bounded and free of keys.
        status: the HTTP status, None where the refusal came another way.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class NotAuthorised(Refused):
    """The key is missing, invalid, revoked, or lacks a right (401, 403)."""


class NotFound(Refused):
    """The platform does not know this run, task or blob (404)."""


class Conflict(Refused):
    """The platform's state is another than the caller believes (409): look before deciding."""


class Unavailable(ScrimmageError):
    """An infrastructure failure: platform, model, Redis or network. Never the task's fault.

    Args:
        message: what did not answer, and how.
        after: seconds to wait before the next try, where the other side named them.
    """

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Malformed(Unavailable):
    """Answers come, but none that can be read: a gateway's page, a cut-off body, another kind of server."""


class Unclear(Unavailable):
    """A write was sent and its answer was lost: it may have happened. Look, then decide."""


class DeadlinePassed(ScrimmageError):
    """The caller's time was used up before the work could be done."""


class LeaseLost(ScrimmageError):
    """The lease was taken back (its fence is an older one) or its run is gone: the result is not wanted."""


class Unreadable(ScrimmageError):
    """A document cannot be turned into blocks and tables.

    Args:
        reason: one short sentence for the user ("encrypted with a password", "zip bomb: …").
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CapReached(ScrimmageError):
    """A model call would cost more than what is left under a cap. What was learned so far must do."""


class ToolError(ScrimmageError):
    """A tool was called wrongly, or could not do what was asked (``{"ok": false, "error": …}``)."""


class SolverFault(ScrimmageError):
    """The solver raised, returned something that is not a Solution, or did not return in time."""


class ComeBack(Exception):
    """A signal, not an error: raised by a solver to wait without holding a slot. Costs no attempt.

    Args:
        after: seconds until the solver wants to be called again.
        state: JSON object that the next call finds as ``context.state``.
    """

    def __init__(self, after: float, state: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"come back after {after:g} s")
        self.after = after
        self.state = dict(state or {})
