"""The platforms' rate limit: one token bucket per account, as the texts promise it.

Harness Arena Task API v1, table of statuses: "about 20 requests/s per team (bursts up to 100)".
"""

from __future__ import annotations

from collections.abc import Callable


class Limiter:
    """Token buckets by account: ``rate`` tokens a second, at most ``burst`` saved up, full at first.

    Args:
        rate: requests per second in the long run.
        burst: requests that may come at once.
        ticks: monotonic seconds.
        lifted: count, but refuse nobody (to measure the server itself).
    """

    def __init__(self, rate: float, burst: int, ticks: Callable[[], float], *, lifted: bool = False) -> None:
        self.rate = rate
        self.burst = burst
        self.lifted = lifted
        self._ticks = ticks
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, account: str) -> float:
        """Take one token.

        Returns:
            0.0 where there was one; otherwise the seconds until there is one (nothing is taken then).
        """
        now = self._ticks()
        level, since = self._levels.get(account, (float(self.burst), now))
        level = min(float(self.burst), level + (now - since) * self.rate)
        if level >= 1.0 - 1e-9:
            self._levels[account] = (level - 1.0, now)
            return 0.0
        self._levels[account] = (level, now)
        return (1.0 - level) / self.rate
