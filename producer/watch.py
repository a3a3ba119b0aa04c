"""Live progress of runs, read from the ledger: tasks, requests per second against the limit, cost, time left.

On a terminal one block is redrawn in place; elsewhere (a log, CI) a line is written when something changed,
at most every few seconds, and at the end.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from producer.archive import Archive
from producer.stillness import Stillness
from producer.summary import Summary
from producer.sweeps import Sweep, play
from shared.deadline import Deadline
from shared.models import RunRef, RunRequest, TaskStatus
from shared.platforms.base import Limits, Platform
from shared.pool.ledger import RunState
from shared.pool.pool import Pool

_LINE_SECONDS = 5.0
_LATE_SECONDS = 5.0
"""So long the first opening may take before it is said that it does."""

_RATE_WINDOW_SECONDS = 5.0
_SHOWN_RUNS = 12
_SOLVED = (TaskStatus.SOLVED, TaskStatus.SUBMITTING, TaskStatus.SUBMITTED)


@dataclass(frozen=True)
class Snapshot:
    """What the watched runs look like at one moment.

    ``runs`` are those that the ledger has; the counts are of all. ``cost_usd`` is what models cost, by the
    pool's own count; ``seconds_left`` the time of the run that has least, None where none is under way.
    """

    runs: tuple[RunState, ...]
    over: int
    total: int
    tasks: int
    solved: int
    gave_up: int
    waiting: int
    cost_usd: float
    seconds_left: float | None


def snapshot(
    pool: Pool, found: Iterable[RunState | None], *, done: Sequence[Summary] = (), total: int
) -> Snapshot:
    """What to show of runs.

    Args:
        found: runs as they were read from the ledger (None: forgotten already, or not read yet).
        done: those of which the ledger is not asked any more.
        total: how many there are, those included that were not opened yet.
    """
    states = tuple(state for state in found if state is not None)
    counts: Counter[str] = Counter()
    for state in states:
        counts.update({str(status): count for status, count in state.counts.items()})
    spent = [pool.spend.totals(state.ref) for state in states]
    failed = [failure.status for row in done for failure in row.failures]
    left = [state.seconds_left for state in states if not state.status.final]
    return Snapshot(
        runs=states,
        over=len(done) + len(states) - len(left),
        total=total,
        tasks=sum(counts.values()) + sum(row.tasks_total for row in done),
        solved=sum(counts[status] for status in _SOLVED) + sum(row.tasks_submitted for row in done),
        gave_up=counts[TaskStatus.GAVE_UP] + failed.count(TaskStatus.GAVE_UP),
        waiting=counts[TaskStatus.WAITING],
        cost_usd=sum(part.settled + part.unsettled for part in spent) / 1e6
        + sum(row.pool_cost_usd or 0.0 for row in done),
        seconds_left=min(left, default=None),
    )


def play_watched(
    pool: Pool,
    platform: Platform,
    requests: Sequence[RunRequest],
    *,
    in_flight: int,
    archive: Archive,
    console: Console,
    sweep: Sweep,
    joined: Sequence[RunRef] = (),
) -> None:
    """``sweeps.play`` with live progress on a console."""
    stillness = Stillness(pool)
    soon = Deadline.after(_LATE_SECONDS)

    def show(now: Sweep) -> None:
        seen = snapshot(pool, now.flying.values(), done=now.done, total=now.total)
        trouble = now.trouble or stillness.look(seen.runs)
        if now.opening and soon.passed and not (now.flying or now.done):
            trouble = (
                trouble or f"{platform.name} has not said yet that a run is open: waiting for its answer"
            )
        view.show(seen, trouble)

    with Progress(console, platform.limits) as view:
        play(
            pool,
            platform,
            requests,
            in_flight=in_flight,
            archive=archive,
            joined=joined,
            sweep=sweep,
            view=show,
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
        self._began = clock()
        self._over_before: int | None = None
        self._live = (
            Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        )
        self._recent: deque[tuple[float, int]] = deque()
        self._line = self._last_line = self._last_trouble = ""
        self._last_at = -_LINE_SECONDS
        self._began_tasks = False
        self._requests = 0
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
        else:
            self._write()

    def show(self, now: Snapshot, trouble: str | None = None) -> None:
        """Show what runs look like, and what stands in their way."""
        self._line = self.line(now)
        if self._live:
            self._live.update(self._block(now, trouble), refresh=True)
            return
        if trouble and trouble != self._last_trouble:
            self._console.print(Text(trouble, "yellow"), soft_wrap=True)
            self._last_trouble = trouble
        if self._clock() - self._last_at >= _LINE_SECONDS or (now.tasks and not self._began_tasks):
            self._write()
        self._began_tasks |= bool(now.tasks)

    def line(self, now: Snapshot) -> str:
        """``runs 3/10 · solved 41/120 · 18.2 of 20 requests/s · $0.0132 · 14:32 left · 2:10 to go``."""
        parts = [f"runs {now.over}/{now.total}"] if now.total > 1 else []
        parts.append(f"solved {now.solved}/{now.tasks}" if now.tasks else "opening")
        if now.gave_up:
            parts.append(f"{now.gave_up} gave up")
        if now.waiting:
            parts.append(f"{now.waiting} waiting")
        limit = f" of {self._limits.rate:g}" if self._limits else ""
        parts.append(f"{self._rate(now):.1f}{limit} requests/s")
        parts.append(f"${now.cost_usd:.4f}")
        if now.seconds_left is not None:
            parts.append(f"{_minutes(now.seconds_left)} left")
        if self._over_before is None:
            self._over_before = now.over
        if self._over_before < now.over < now.total:
            seconds_each = (self._clock() - self._began) / (now.over - self._over_before)
            parts.append(f"about {_minutes(seconds_each * (now.total - now.over))} to go")
        return " · ".join(parts)

    def _write(self) -> None:
        if self._line != self._last_line:
            self._console.print(Text(self._line), soft_wrap=True)
            self._last_line, self._last_at = self._line, self._clock()

    def _rate(self, now: Snapshot) -> float:
        """Requests per second over the last seconds, whatever runs came and went meanwhile."""
        for state in now.runs:
            self._requests += max(0, state.requests - self._seen.get(state.ref, state.requests))
            self._seen[state.ref] = state.requests
        present = self._clock()
        self._recent.append((present, self._requests))
        while self._recent and self._recent[0][0] < present - _RATE_WINDOW_SECONDS:
            self._recent.popleft()
        began, before = self._recent[0]
        return (self._requests - before) / (present - began) if present > began else 0.0

    def _block(self, now: Snapshot, trouble: str | None) -> Group:
        """A row for each run, then the line, then what stands in their way."""
        grid = Table.grid(padding=(0, 1))
        for column in ("run", "status", "bar", "solved"):
            grid.add_column(column, no_wrap=True, overflow="ellipsis")
        bar = min(30, self._console.width - 60)
        under_way = [state for state in now.runs if not state.status.final]
        for state in under_way[:_SHOWN_RUNS]:
            total = max(1, sum(state.counts.values()))
            solved = sum(state.counts.get(status, 0) for status in _SOLVED)
            submitted = state.counts.get(TaskStatus.SUBMITTED, 0)
            grid.add_row(
                Text(str(state.ref)),
                state.status,
                ProgressBar(total=total, completed=solved, width=bar) if bar > 0 else "",
                f"{solved}/{total}" + (f", {submitted} submitted" if submitted else ""),
            )
        parts: list[Table | Text] = [grid]
        if len(under_way) > _SHOWN_RUNS:
            parts.append(Text(f"and {len(under_way) - _SHOWN_RUNS} more"))
        parts.append(Text(self._line))
        if trouble:
            parts.append(Text(trouble, "yellow"))
        return Group(*parts)


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
