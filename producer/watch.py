"""Live progress of runs, read from the ledger: tasks, requests per second against the limit, cost, time left.

On a terminal one block is redrawn in place; elsewhere (a log, CI) a line is written when something changed,
at most every few seconds.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from shared.models import RunRef, TaskStatus
from shared.platforms.base import Limits
from shared.pool.ledger import RunState
from shared.pool.pool import Pool

_LINE_SECONDS = 5.0
_RATE_WINDOW_SECONDS = 5.0
_SHOWN_RUNS = 12
_REPORTED = (TaskStatus.SOLVED, TaskStatus.SUBMITTING, TaskStatus.SUBMITTED, TaskStatus.GAVE_UP)


@dataclass(frozen=True)
class Snapshot:
    """What the watched runs look like at one moment. Costs in US dollars, times in seconds."""

    runs: tuple[RunState, ...]
    over: int
    total: int
    requests: int
    cost_usd: float
    tasks: Counter[str] = field(default_factory=Counter)

    @property
    def reported(self) -> int:
        return sum(self.tasks[status] for status in _REPORTED)


def snapshot(pool: Pool, found: Iterable[RunState | None], *, over: int = 0, total: int) -> Snapshot:
    """What to show of runs as they were read from the ledger (None: forgotten already, or not read yet)."""
    states = tuple(state for state in found if state is not None)
    tasks: Counter[str] = Counter()
    for state in states:
        tasks.update({str(status): count for status, count in state.counts.items()})
    spent = [pool.spend.totals(state.ref) for state in states]
    return Snapshot(
        runs=states,
        over=over,
        total=total,
        requests=sum(state.requests for state in states),
        cost_usd=sum(part.settled + part.unsettled for part in spent) / 1e6,
        tasks=tasks,
    )


class Progress:
    """Shows snapshots as they come. Use as a context manager around the waiting.

    Args:
        console: where to draw; progress belongs on stderr.
        limits: the platform's request limit, None where it is not known.
        clock: seconds; tests inject their own.
    """

    def __init__(
        self, console: Console, limits: Limits | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._limits = limits
        self._clock = clock
        self._live = (
            Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        )
        self._recent: deque[tuple[float, int]] = deque()
        self._last_line = ""
        self._last_at = -_LINE_SECONDS
        self._earlier_requests = 0
        self._seen: dict[RunRef, int] = {}

    def __enter__(self) -> Progress:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def show(self, now: Snapshot) -> None:
        rate = self._rate(now)
        if self._live:
            self._live.update(self._block(now, rate), refresh=True)
            return
        line = self.line(now, rate)
        if line != self._last_line and self._clock() - self._last_at >= _LINE_SECONDS:
            self._console.print(line, soft_wrap=True)
            self._last_line, self._last_at = line, self._clock()

    def line(self, now: Snapshot, rate: float) -> str:
        """One line: ``runs 3/10 · tasks 41/120 · 18.2 of 20 req/s · $0.0132 · 14:32 left``."""
        tasks = sum(now.tasks.values())
        parts = [f"runs {now.over}/{now.total}"] if now.total > 1 else []
        parts.append(f"tasks {now.reported}/{tasks}")
        if now.tasks[TaskStatus.WAITING]:
            parts.append(f"{now.tasks[TaskStatus.WAITING]} waiting")
        limit = f" of {self._limits.rate:g}" if self._limits else ""
        parts.append(f"{rate:.1f}{limit} req/s")
        parts.append(f"${now.cost_usd:.4f}")
        left = [state.seconds_left for state in now.runs]
        if left:
            minutes, seconds = divmod(int(min(left)), 60)
            parts.append(f"{minutes}:{seconds:02d} left")
        return " · ".join(parts)

    def _rate(self, now: Snapshot) -> float:
        """Requests per second over the last seconds, whatever runs came and went meanwhile."""
        for state in now.runs:
            self._earlier_requests += max(0, state.requests - self._seen.get(state.ref, 0))
            self._seen[state.ref] = state.requests
        present = self._clock()
        self._recent.append((present, self._earlier_requests))
        while self._recent and self._recent[0][0] < present - _RATE_WINDOW_SECONDS:
            self._recent.popleft()
        began, before = self._recent[0]
        return (self._earlier_requests - before) / (present - began) if present > began else 0.0

    def _block(self, now: Snapshot, rate: float) -> Table:
        block = Table.grid(padding=(0, 1))
        for state in now.runs[:_SHOWN_RUNS]:
            total = max(1, sum(state.counts.values()))
            reported = sum(state.counts.get(status, 0) for status in _REPORTED)
            submitted = state.counts.get(TaskStatus.SUBMITTED, 0)
            block.add_row(
                str(state.ref),
                str(state.status),
                ProgressBar(total=total, completed=reported, width=30),
                f"{reported}/{total} reported, {submitted} submitted",
            )
        if len(now.runs) > _SHOWN_RUNS:
            block.add_row(f"and {len(now.runs) - _SHOWN_RUNS} more")
        block.add_row(self.line(now, rate))
        return block
