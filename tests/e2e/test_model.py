"""Whole runs with a model: the ledger, the stand-in's books and the arena agree; caps hold; outages pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulators.model.conduct import Conduct
from emulators.serve import ModelEmulator
from tests.support import model_solvers
from tests.support.command import Terminal
from tests.support.emulated import ArenaHere
from tests.support.playing import wait_for
from tests.support.recording import FIRST_DIFFERENCE, Recording

Used = Callable[[], dict[str, int]]


@pytest.fixture(scope="module")
def arena() -> Iterator[ArenaHere]:
    with ArenaHere() as emulator:
        yield emulator


@pytest.fixture(scope="module")
def shared_model(arena: ArenaHere) -> Iterator[ModelEmulator]:
    with ModelEmulator.start(arena_url=arena.url) as emulator:
        yield emulator


@pytest.fixture
def model(shared_model: ModelEmulator) -> ModelEmulator:
    shared_model.control("conduct", **Conduct().model_dump())
    return shared_model


@pytest.fixture
def used(model: ModelEmulator) -> Used:
    """What the key has used since the test began: calls, micro-dollars."""

    def all_in_all() -> dict[str, int]:
        numbers: dict[str, int] = model.books()["keys"]["team-1 dev"]
        return numbers

    before = all_in_all()
    return lambda: {name: number - before[name] for name, number in all_in_all().items()}


@pytest.fixture
def terminal(tmp_path: Path, arena: ArenaHere, model: ModelEmulator) -> Terminal:
    return Terminal(
        tmp_path,
        SCRIMMAGE_ARENA_URL=arena.url,
        SCRIMMAGE_ARENA_KEY=arena.key,
        SCRIMMAGE_SOLVERS=model_solvers.SETTING,
        SCRIMMAGE_MODEL_URL=model.url,
        SCRIMMAGE_MODEL=model.model,
        SCRIMMAGE_MODEL_KEY=model.key,
        SCRIMMAGE_PROCESSES="1",
    )


@pytest.mark.chaos
def test_a_run_through_troubles_and_an_outage_costs_what_the_books_say(
    terminal: Terminal, model: ModelEmulator, used: Used
) -> None:
    model.control("conduct", limited=0.2, empty=0.1, down=4)
    ended = terminal.run("run", "--solver", "asking", "--json", seconds=150)
    assert ended.code == 0, ended.err
    (row,) = ended.json["runs"]
    assert (row["accuracy"], row["tasks_submitted"], row["failures"]) == (1.0, 30, [])
    assert round(row["cost_usd"] * 1e6) == round(row["pool_cost_usd"] * 1e6) == used()["micro_usd"] > 0


@pytest.mark.optin
@pytest.mark.timeout(400)
def test_a_minute_without_the_model_in_mid_run_loses_nothing(
    terminal: Terminal, model: ModelEmulator, used: Used
) -> None:
    """`agent`, with plans that go back to the model: some are in the middle of a task when it goes away."""
    model.control("conduct", wrong=0.2, slow=1.0)
    running = terminal.start("run", "--solver", "agent", "--json")
    wait_for(lambda: used()["calls"] >= 6, 60, "the run has asked the model")
    model.control("conduct", down=60)
    before = used()["calls"]
    ended = running.ended(300)
    assert ended.code == 0, ended.err
    (row,) = ended.json["runs"]
    assert before < 20, "the outage came too late to be in mid-run"
    assert row["wall_seconds"] > 60
    assert (row["tasks_submitted"], row["failures"]) == (30, [])
    assert row["accuracy"] >= 0.99
    assert round(row["cost_usd"] * 1e6) == round(row["pool_cost_usd"] * 1e6) == used()["micro_usd"] > 0
    print({name: row[name] for name in ("wall_seconds", "accuracy", "cost_usd", "requests")}, used()["calls"])


@pytest.mark.optin
@pytest.mark.parametrize("after", ["seconds", "none"])
def test_without_a_model_all_run_long_every_task_is_submitted_in_the_end(
    terminal: Terminal, model: ModelEmulator, after: str
) -> None:
    """It asks for a pause that is longer than the run, or for none."""
    if after == "seconds":
        model.control("conduct", down=3600)
    else:
        model.control("conduct", most_open=1, limited=1.0)
    ended = terminal.run("run", "--solver", "agent", "--budget", "75", "--json", seconds=150)
    assert ended.code == 0, ended.err
    (row,) = ended.json["runs"]
    assert (row["tasks_submitted"], row["failures"]) == (30, [])
    assert row["accuracy"] > 0.2, "what baseline makes of the tasks"
    print({name: row[name] for name in ("wall_seconds", "accuracy", "cost_usd")})


@pytest.mark.optin
def test_every_prompt_of_a_run_begins_alike_whichever_process_makes_it(
    terminal: Terminal, model: ModelEmulator
) -> None:
    """The pool of one machine has several; each hashes otherwise."""
    with Recording(model.url) as recording:
        several = {"SCRIMMAGE_PROCESSES": "2", "SCRIMMAGE_MODEL_URL": recording.url}
        ended = terminal.run("run", "--solver", "agent", "--json", **several)
    assert ended.code == 0, ended.err
    assert len(recording.first_plans()) == 30
    assert recording.common().endswith(FIRST_DIFFERENCE)


def test_a_run_never_spends_more_than_its_cap(terminal: Terminal, model: ModelEmulator, used: Used) -> None:
    model.control("conduct", limited=0.2)
    ended = terminal.run("run", "--solver", "asking", "--cap-run", "0.003", "--json")
    assert ended.code == 0, ended.err
    (row,) = ended.json["runs"]
    assert 0 < row["accuracy"] < 0.9
    spent = used()
    one_call = spent["micro_usd"] / spent["calls"]  # what was reserved for a call is an estimate
    assert 0 < spent["micro_usd"] <= 3000 + one_call
