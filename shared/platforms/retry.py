"""When a request is sent again, and after how long. The one retry policy of all platforms.

What counts is whether the request may have taken effect although its answer is unusable:

========================================  ============  ===============================
what came back                            had effect?   a read / a write
========================================  ============  ===============================
no connection, no free connection         no            again / again
429                                       no            again / again, bucket paused
5xx, 408, 425                             perhaps       again / Unclear
connection lost, time-out, cut-off body   perhaps       again / Unclear
2xx that is not the JSON that was due     perhaps       again / Unclear
a redirect to elsewhere                   no            Unavailable at once
other 4xx                                 no            Refused and its kinds
========================================  ============  ===============================

A platform may call 500 "safe to retry" (the Harness Arena does). A write answered by 500 is Unclear all the
same: a gateway can say 500 of a request that was carried out, and one look is cheaper than a mail sent twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

TRIES = 8
"""Requests for one answer. With one in five failing, one call in 400,000 fails for good."""

FIRST_WAIT = 0.25
LONGEST_WAIT = 8.0
"""Seconds of back-off; doubled from the first to the longest."""

LONGEST_PAUSE = 120.0
"""Seconds of a Retry-After that are believed at a time. A longer one is asked about again after these:
a gateway that says "tomorrow" must not cost a final run of 30 minutes."""


@dataclass(eq=False)  # not frozen: Python itself sets attributes of exceptions
class Failure(Exception):
    """One request came to nothing.

    Args:
        why: what happened, printable and free of keys.
        landed: True where the request may have taken effect all the same.
        after: seconds that the other side wants us to wait.
        again: False where another try would end the same way.
        malformed: True where the answer said that all is well, but is not what was due.
    """

    why: str
    landed: bool
    after: float | None = None
    again: bool = True
    malformed: bool = False

    def __str__(self) -> str:
        return self.why


def back_off(attempt: int, random: Callable[[], float]) -> float:
    """Seconds to wait after the failed try number ``attempt`` (from 0): exponential, bounded, half jitter."""
    return float(min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * (0.5 + random() / 2))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a ``Retry-After`` header asks for, at most ``LONGEST_PAUSE``; None where there is none.

    Args:
        headers: of the answer, names in lower case.
        now: the server's clock, seconds since the epoch; an HTTP-date is measured from it.
    """
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        moment = http_date(text)
        if moment is None:
            return None
        seconds = moment - now
    if math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), LONGEST_PAUSE)


def http_date(text: str) -> float | None:
    """Seconds since the epoch of an HTTP-date, None where the text is not one."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
