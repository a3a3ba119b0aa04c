"""A sweep on bad days: the platform goes away, the disk is full, a person has enough. It needs no worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from producer.archive import Archive
from producer.interrupt import Interrupted
from producer.stillness import STILL_SECONDS, Stillness
from producer.sweeps import Sweep, play, requests_of
from shared.errors import SettingsError, Unavailable, Unclear
from shared.models import Run, RunRequest, Solution
from shared.platforms.base import Prepared
from shared.pool.fleet import Heartbeat
from shared.pool.pool import Pool
from shared.settings import Settings
from tests.support.ledger import lease_run, open_run
from tests.support.toy_platform import ToyPlatform


class Moody(ToyPlatform):
    """A platform that does something of its own with every opening, by number."""

    moods: Callable[[int], None]
    opened = 0

    def open(self, request: RunRequest, prepared: Prepared, request_id: str) -> Run:
        number, self.opened = self.opened, self.opened + 1
        self.moods(number)
        return super().open(request, prepared, request_id)


@pytest.fixture
def settings(redis_url: str, tmp_path: Path) -> Settings:
    return Settings.load(_env_file=None, redis_url=redis_url, data=tmp_path, archive=tmp_path / "archive")


@pytest.fixture
def pool(settings: Settings) -> Iterator[Pool]:
    """A pool in which somebody says to be a worker with the solver ``mine``."""
    with Pool.connect(settings) as pool:
        beat = Heartbeat(node="n", host="h", pid=1, role="both", version="0", slots=4)
        pool.fleet.beat(beat.model_copy(update={"solvers": {"mine": "0"}, "keys": {"toy": "toy"}}))
        yield pool


@pytest.fixture
def platform(settings: Settings, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> Iterator[Moody]:
    monkeypatch.setattr("producer.runs.AGAIN_SECONDS", 0.0)
    platform = Moody.create(settings, pool)
    platform.moods = lambda _: None
    yield platform
    platform.close()


def ending(pool: Pool) -> Callable[[Sweep], None]:
    """A view that ends every run that it sees solving."""

    def view(sweep: Sweep) -> None:
        for ref, state in sweep.flying.items():
            if state is not None and not state.status.final:
                pool.ledger.failed(lease_run(pool.ledger, ref), "over")

    return view


def sweep_of(pool: Pool, platform: Moody, runs: int, view: Callable[[Sweep], None] | None = None) -> Sweep:
    requests = requests_of(RunRequest(platform="toy"), runs=runs, seeds=(), solvers=("mine",))
    archive = Archive(pool.settings.archive)
    return play(pool, platform, requests, in_flight=1, archive=archive, view=view or ending(pool))


def test_runs_that_cannot_be_archived_are_told_and_stay_in_the_ledger(pool: Pool, platform: Moody) -> None:
    pool.settings.archive.write_text("a file, no folder")
    played = sweep_of(pool, platform, 2)
    assert [row.status for row in played.done] == ["failed", "failed"]
    assert len(played.unkept) == 2
    assert "then `scrimmage resume`" in str(played.unkept[0])
    assert [state.archived for state in pool.ledger.runs()] == [False, False]


@pytest.mark.parametrize("error", [Unavailable("away"), Unclear("perhaps")])
def test_a_platform_that_goes_away_in_the_middle_is_waited_for(
    error: Unavailable, pool: Pool, platform: Moody
) -> None:
    troubles: set[str | None] = set()

    def moods(number: int) -> None:
        if number == 1:
            raise error

    def view(sweep: Sweep) -> None:
        troubles.add(sweep.trouble)
        ending(pool)(sweep)

    platform.moods = moods
    played = sweep_of(pool, platform, 3, view)
    assert len(played.done) == 3
    assert pool.ledger.openings() == []


def test_a_platform_that_is_away_at_the_beginning_is_told_at_once(pool: Pool, platform: Moody) -> None:
    def moods(_: int) -> None:
        raise Unavailable("away")

    platform.moods = moods
    with pytest.raises(Unavailable, match="away"):
        sweep_of(pool, platform, 3)
    assert platform.opened == 1


def test_an_opening_that_hangs_holds_back_nobody_who_has_enough(pool: Pool, platform: Moody) -> None:
    free, opening = threading.Event(), []
    platform.moods = lambda _: [free.wait(20), None][1]

    def enough(sweep: Sweep) -> None:
        opening.append(sweep.opening)
        raise Interrupted

    with pytest.raises(Interrupted):
        sweep_of(pool, platform, 1, enough)
    assert opening == [1]
    free.set()
    for thread in [thread for thread in threading.enumerate() if thread.name == "sweep"]:
        thread.join(20)  # what it opens is not to be found by another test


@pytest.mark.parametrize(
    ("worker", "broker", "words"),
    [
        (False, None, "no worker is alive"),
        (True, "redis://127.0.0.1:9/0", "the broker at 127.0.0.1:9 does not answer"),
        (True, None, "arena:run_1 t1 waits: the model [2J is away"),
    ],
)
def test_runs_that_stand_still_say_why(
    worker: bool, broker: str | None, words: str, settings: Settings, redis_url: str
) -> None:
    now = [0.0]
    with Pool.connect(settings.model_copy(update={"broker_url": broker})) as pool:
        if worker:
            pool.fleet.beat(Heartbeat(node="n", host="h", pid=1, role="both", version="0", slots=4))
        ref = open_run(pool.ledger)
        held = pool.ledger.lease(ref, "t1", "w1", 10.0)
        assert held is not None
        pool.ledger.wait(held, 60.0, "the model \x1b[2J is away")
        stillness = Stillness(pool, lambda: now[0])

        def look() -> str | None:
            state = pool.ledger.run(ref)
            assert state is not None
            return stillness.look([state])

        assert look() is None
        now[0] = STILL_SECONDS - 1
        assert look() is None
        now[0] = STILL_SECONDS
        assert words in str(look())
        held = pool.ledger.lease(ref, "t2", "w1", 10.0)
        assert held is not None
        assert words in str(look()), "a task that was taken up has got nowhere yet"
        pool.ledger.decide(held, Solution(answer=1))
        pool.ledger.report(held)
        assert look() is None, "it moves again"


def test_workers_that_are_waited_for_are_said_to_be(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("producer.health._STARTING_SECONDS", 1.5)
    troubles: list[str | None] = []
    with Pool.connect(settings) as empty:
        platform = Moody.create(settings, empty)
        with pytest.raises(SettingsError, match="no live worker can play this run: none is alive"):
            sweep_of(empty, platform, 1, lambda sweep: troubles.append(sweep.trouble))
        platform.close()
    (said,) = set(troubles)
    assert "for workers: none is alive; start `scrimmage worker`" in str(said)
