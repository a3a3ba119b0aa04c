"""The model client when answers are lost, endpoints are overloaded, gateways fail."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from emulators.arena.scenario import build
from emulators.clock import Clock
from emulators.model.app import PREFIX, ModelApp
from emulators.model.options import ModelOptions
from emulators.server import ThreadedServer
from shared.errors import NotAuthorised, Refused, SettingsError, Unavailable
from shared.pool.pacing import Pacing
from shared.settings import fingerprint
from tests.support.emulated import ModelHere
from tests.support.model import Playing
from workers.model import user

QUESTION = [user("What is this?")]

Play = Callable[..., Playing]


class Broken(ThreadedServer):
    """A stand-in in this process, with faults at its chat endpoint."""

    def __init__(self, folder: Path, rules: str) -> None:
        faults = folder / "faults.toml"
        faults.write_text(f'[[rules]]\nendpoint = "POST /chat/completions"\n{rules}\n')
        self.app = ModelApp(ModelOptions(faults=faults), build, Clock())
        super().__init__(self.app)
        self.url += PREFIX

    @property
    def micro_usd(self) -> int:
        return self.app.keys.all()[0].micro_usd


@pytest.mark.parametrize(
    "rules",
    [
        'fault = "drop"\nwhen = "after"\nfirst = 1',
        'fault = "truncate"\nlength = "cut"\nfirst = 1',
        'fault = "status"\nstatus = 504\nbody = "html"\nwhen = "after"\nfirst = 1',
        'fault = "hang"\nseconds = 4\nwhen = "after"\nfirst = 1',
    ],
)
def test_an_answer_that_was_lost_stays_unsettled_and_is_asked_for_again(
    play: Play, tmp_path: Path, rules: str
) -> None:
    with Broken(tmp_path, rules) as endpoint:
        task = play(endpoint.url, settings={"model_timeout": 2.0})
        reply = task.model.chat(QUESTION, max_tokens=50)
    totals = task.pool.spend.totals(task.ref)
    assert totals.settled == reply.cost
    assert totals.calls == 2
    billed_but_lost = endpoint.micro_usd - totals.settled
    assert 0 < billed_but_lost <= totals.unsettled
    (lost,) = task.notes("model_missed")
    assert lost["lost"] is True


@pytest.mark.parametrize(
    "rules",
    [
        'fault = "status"\nstatus = 500\nfirst = 2',
        'fault = "status"\nstatus = 502\nbody = "html"\nfirst = 2',
        'fault = "too_many"\nform = "seconds"\nfirst = 2',
        'fault = "too_many"\nform = "date"\nfirst = 1',
        'fault = "too_many"\nform = "none"\nfirst = 1',
    ],
)
def test_an_error_costs_nothing_and_is_tried_again(play: Play, tmp_path: Path, rules: str) -> None:
    with Broken(tmp_path, rules) as endpoint:
        task = play(endpoint.url)
        reply = task.model.chat(QUESTION)
    totals = task.pool.spend.totals(task.ref)
    assert (totals.settled, totals.unsettled) == (reply.cost, 0)
    assert reply.cost == endpoint.micro_usd
    assert endpoint.app.books.account("team-1 dev").during_pause == 0
    assert all(not note["lost"] for note in task.notes("model_missed"))


def test_a_model_that_nothing_listens_for_is_unavailable_and_costs_nothing(play: Play) -> None:
    task = play("http://127.0.0.1:9/api/v1")
    task.seconds = 1.0
    with pytest.raises(Unavailable):
        task.model.chat(QUESTION)
    assert task.pool.spend.totals(task.ref).usd == 0


def test_calls_at_a_time_are_cut_to_what_the_endpoint_bears(play: Play, stand_in: ModelHere) -> None:
    stand_in.control("conduct", most_open=2, slow=0.05)
    tasks = [play(task_id=task_id) for task_id in ("t1", "t2", "t3")]

    def ask(number: int) -> str:
        return tasks[number % 3].model.chat([user(f"Question {number}")]).text

    with ThreadPoolExecutor(9) as threads:
        assert all(threads.map(ask, range(18)))
    pacing = Pacing(tasks[0].pool.redis, f"model:{fingerprint('sk-stand-in-dev-1')}", most=64)
    assert pacing.state().limit <= 4
    totals = tasks[0].pool.spend.totals(tasks[0].ref)
    assert totals.unsettled == 0


def test_an_endpoint_that_takes_schemas_in_another_form_is_asked_in_that_form(play: Play) -> None:
    """llama-cpp-python's server knows no ``json_schema`` and answers 500."""
    forms: list[str] = []

    async def complete(http: Request) -> Response:
        form = (await http.json())["response_format"]
        forms.append(form["type"])
        if form["type"] == "json_schema":
            return JSONResponse({"error": {"message": "response_format: unknown type"}}, 500)
        return JSONResponse({"choices": [{"message": {"content": json.dumps(form["schema"])}}]})

    with ThreadedServer(Starlette(routes=[Route("/chat/completions", complete, methods=["POST"])])) as server:
        task = play(server.url)
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        assert [task.model.chat(QUESTION, schema=schema).parsed for _ in range(2)] == [schema, schema]
    assert forms == ["json_schema", "json_schema", "json_object", "json_object"]


@pytest.mark.parametrize(
    ("code", "more", "kind"),
    [
        (402, {}, NotAuthorised),
        (403, {}, NotAuthorised),
        (403, {"metadata": {"reasons": ["x"], "flagged_input": "y"}}, Refused),
        (400, {}, Refused),
        (404, {}, SettingsError),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_what_another_try_cannot_change_is_told_apart(
    play: Play, code: int, more: dict[str, object], kind: type[Exception], inside: bool
) -> None:
    calls = 0

    async def refuse(_: Request) -> Response:
        nonlocal calls
        calls += 1
        error = {"error": {"code": code, "message": "no", **more}}
        return JSONResponse(error, 200 if inside else code)

    with ThreadedServer(Starlette(routes=[Route("/chat/completions", refuse, methods=["POST"])])) as server:
        task = play(server.url)
        with pytest.raises(kind) as caught:
            task.model.chat(QUESTION)
    assert type(caught.value) is kind
    assert calls == 1
    assert task.pool.spend.totals(task.ref).usd == 0


def test_an_endpoint_that_wants_a_long_pause_is_left_alone_and_holds_no_thread(play: Play) -> None:
    async def refuse(_: Request) -> Response:
        return JSONResponse({"error": {"message": "slow down"}}, 429, {"retry-after": "60"})

    with ThreadedServer(Starlette(routes=[Route("/chat/completions", refuse, methods=["POST"])])) as server:
        task = play(server.url)
        for _ in range(2):
            with pytest.raises(Unavailable) as caught:
                task.model.chat(QUESTION)
            assert caught.value.after is not None
            assert caught.value.after > 50
    assert task.pool.spend.totals(task.ref).calls == 1


def test_a_list_of_prices_that_drips_in_holds_nobody_up(play: Play, tmp_path: Path) -> None:
    rules = 'fault = "skew"\nseconds = 0\n[[rules]]\nendpoint = "GET /models"\nfault = "drip"\nseconds = 60'
    with Broken(tmp_path, rules) as endpoint:
        task = play(endpoint.url, settings={"model_timeout": 1.0})
        began = time.monotonic()
        assert task.model.chat(QUESTION).text
        assert time.monotonic() - began < 20
