"""Defects put into the product on purpose: one for each invariant, so that we know it can fail.

``python -m tests.chaos --defects`` plays them and shows which invariants named them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from shared.models import EffectResult, Kind, Receipt
from shared.platforms.arena.platform import ArenaPlatform
from shared.pool import scripts
from shared.pool.bucket import Bucket
from shared.pool.journal import Journal
from shared.pool.ledger import Ledger
from shared.pool.spend import Spend
from workers.effects import Effects
from workers.finish import Drain
from workers.worker import Worker


@dataclass(frozen=True)
class Defect:
    """One defect.

    Args:
        breaks: the invariant that must name it.
        scenario: the disturbance under which it shows.
        put_in: makes it, in a worker process.
        setup: what is different in the scenario's setup.
        within: seconds for the runs to end.
    """

    breaks: str
    scenario: str
    put_in: Callable[[], None]
    setup: dict[str, Any] = field(default_factory=dict)
    within: float = 30.0

    @property
    def what(self) -> str:
        return (self.put_in.__doc__ or "").rstrip(".")


DEFECTS: dict[str, Defect] = {}


def _breaks(
    invariant: str, scenario: str = "calm", *, within: float = 30.0, **setup: Any
) -> Callable[[Callable[[], None]], None]:
    def enter(put_in: Callable[[], None]) -> None:
        name = put_in.__name__.replace("_", "-")
        DEFECTS[name] = Defect(invariant, scenario, put_in, setup, within)

    return enter


def put_in(name: str) -> None:
    """Make this process defective."""
    DEFECTS[name].put_in()


def _replace(owner: type, name: str, made: Callable[..., Any]) -> None:
    """Put another function in the place of a method; it gets the old one first."""
    old = getattr(owner, name)

    def method(*args: Any, **kwargs: Any) -> Any:
        return made(old, *args, **kwargs)

    setattr(owner, name, method)


@_breaks("ends", "worker-killed", within=15)
def leases_never_expire() -> None:
    """What a dead worker held is never taken back."""
    _replace(Ledger, "expire_leases", lambda _old, _self, _grace: [])


@_breaks("once")
def submissions_are_repeated() -> None:
    """Every round of submissions is sent twice."""

    def twice(old: Any, self: ArenaPlatform, *args: Any) -> Iterator[Receipt]:
        yield from list(old(self, *args))
        yield from old(self, *args)

    _replace(ArenaPlatform, "submit", twice)


@_breaks("all")
def sealed_without_a_drain() -> None:
    """A run is sealed, and what is solved is not submitted."""
    _replace(Drain, "_submit", lambda _old, _self, _platform, _run: None)
    _replace(Ledger, "due_to_seal", lambda _old, _self, _ref: True)


@_breaks("score")
def answers_are_mixed_up() -> None:
    """Tasks are submitted with the answers of others."""

    def shifted(old: Any, self: Ledger, lease: Any) -> Any:
        waiting = old(self, lease)
        solutions = [solution for _, solution in waiting.values()]
        turned = [*solutions[1:], *solutions[:1]]
        return {
            name: (status, solution)
            for (name, (status, _)), solution in zip(waiting.items(), turned, strict=True)
        }

    _replace(Ledger, "unsubmitted", shifted)


@_breaks("twice", "worker-killed-in-an-effect")
def the_journal_is_not_read() -> None:
    """An effect is sent without a look at what was done before."""
    _replace(Journal, "entries", lambda _old, _self, _ref, _task_id: [])
    _replace(Effects, "_calls_shown", lambda _old, _self: None)


@_breaks("done")
def effects_are_left_out() -> None:
    """Effects count as carried out and are not."""

    def nothing(_old: Any, _self: Effects, effects: Any, first: int = 0) -> list[EffectResult]:
        return [
            EffectResult(position=position, effect=effect, ok=True)
            for position, effect in enumerate(effects, first)
        ]

    _replace(Effects, "carry_out", nothing)


@_breaks("sealed", within=20, kind=Kind.FINAL, deadline=8.0)
def never_due_to_seal() -> None:
    """A final run is left open until the platform ends it."""
    _replace(Ledger, "due_to_seal", lambda _old, _self, _ref: False)


@_breaks("limit", "two-pools", tasks=40, seconds=0.0)
def nobody_waits_for_the_bucket() -> None:
    """Requests are sent without asking the bucket."""
    _replace(Bucket, "acquire", lambda _old, _self, *_args, **_kwargs: None)


@_breaks("cost")
def costs_are_written_as_nothing() -> None:
    """A call is settled as if it had cost nothing."""
    _replace(
        Spend,
        "settle",
        lambda old, self, ref, task, call, _cost, **tokens: old(self, ref, task, call, 0, **tokens),
    )


@_breaks("fence", "worker-hung")
def a_lease_that_is_over_still_decides() -> None:
    """A decision is stored without a look at its fence, in place of an earlier one."""
    source = scripts.source

    def unfenced(name: str) -> str:
        text = source(name)
        if name == "ledger/decide":
            text = text.replace("not holds(id, ARGV[4])", "false")
            text = text.replace("'HSETNX'", "'HSET'").replace("ARGV[5]) == 1", "ARGV[5]) >= 0")
        return text

    scripts.source = unfenced  # type: ignore[assignment]
    _replace(Ledger, "renew_all", lambda _old, _self, _leases, _seconds: set())


@_breaks("recovery", "worker-killed", lease=25.0, within=60)
def the_dead_are_not_known() -> None:
    """Leases last 25 s, and their owners are not called what supervisors call their nodes."""
    _replace(Worker, "owner", lambda old, self: f"nobody-{old(self)}")
