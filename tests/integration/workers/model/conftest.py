"""A stand-in that these tests share; its conduct is reset for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from emulators.model.conduct import Conduct
from shared.pool.pool import Pool
from tests.support.emulated import ModelHere
from tests.support.model import SCENARIO, Playing, playing


@pytest.fixture(scope="session")
def shared_stand_in() -> Iterator[ModelHere]:
    with ModelHere(scenarios=(SCENARIO,)) as emulator:
        yield emulator


@pytest.fixture
def stand_in(shared_stand_in: ModelHere) -> ModelHere:
    shared_stand_in.control("conduct", **Conduct().model_dump())
    return shared_stand_in


@pytest.fixture
def play(pool: Pool, stand_in: ModelHere) -> Iterator[Callable[..., Playing]]:
    """``play(task_id=…, settings={…}, task_usd=…)``: a leased task whose model is the stand-in."""
    played: list[Playing] = []

    def play(url: str = stand_in.url, **values: Any) -> Playing:
        played.append(playing(pool, url, **values))
        return played[-1]

    yield play
    for each in played:
        each.models.close()
