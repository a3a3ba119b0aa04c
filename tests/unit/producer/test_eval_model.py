"""Key, credit and answer of the final run's model, before the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from producer.eval_model import model_checks
from producer.health import Check
from shared.settings import Settings
from tests.support.scripted import ScriptedServer, reply

ANSWER = {"choices": [{"message": {"role": "assistant", "content": "ready"}}]}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted


def checks(url: str, **values: object) -> dict[str, Check]:
    fields = {
        "model": "m",
        "model_url": url,
        "eval_model_key": "sk-eval-1",
        "model_key": "sk-dev-1",
        **values,
    }
    return {check.what: check for check in model_checks(Settings.load(_env_file=None, **fields))}


def test_without_a_model_there_is_nothing_to_check() -> None:
    found = checks("http://127.0.0.1:9", model=None)
    assert [(check.what, check.ok) for check in found.values()] == [("model", None)]


def test_the_dev_key_does_not_do_for_a_final_run() -> None:
    found = checks("http://127.0.0.1:9", eval_model_key=None)
    assert found["model"].ok is False
    assert "SCRIMMAGE_EVAL_MODEL_KEY" in found["model"].detail


@pytest.mark.parametrize(
    ("path", "told", "ok", "words"),
    [
        ("/key", {"data": {"limit": 10, "limit_remaining": 4.5, "usage": 5.5}}, True, "$4.50 left"),
        ("/auth/key", {"data": {"limit": 10, "usage": 10}}, False, "$0.00 left"),
        ("/key", {"data": {"limit": None, "limit_remaining": None, "usage": 3}}, True, "no limit"),
        ("/key", {"data": {"label": "x"}}, None, "does not tell"),
        ("/key", {"limit_remaining": -1}, False, "left"),
    ],
)
def test_credit_is_read_where_the_endpoint_tells_it(
    server: ScriptedServer, path: str, told: Any, ok: bool | None, words: str
) -> None:
    server.on("GET", path, reply(told))
    server.on("POST", "/chat/completions", reply(ANSWER))
    found = checks(server.url)
    assert found["credit"].ok is ok
    assert words in found["credit"].detail
    assert found["model answers"].ok is True


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"error": {"code": 429, "message": "sk-eval-1 has no credit"}}, 200),
        ({"error": {"message": "unknown key sk-eval-1"}}, 401),
        ({"choices": []}, 200),
    ],
)
def test_a_model_that_does_not_answer_is_a_no_that_hides_the_key(
    server: ScriptedServer, answer: Any, status: int
) -> None:
    server.on("POST", "/chat/completions", reply(answer, status=status))
    found = checks(server.url)
    assert found["model answers"].ok is False
    assert "sk-eval-1" not in found["model answers"].detail


def test_a_key_that_is_refused_has_no_credit(server: ScriptedServer) -> None:
    server.on("GET", "/key", reply({"error": "no"}, status=401))
    assert checks(server.url)["credit"].ok is False


def test_an_endpoint_that_is_away_is_a_no() -> None:
    assert checks("http://127.0.0.1:9")["model answers"].ok is False
