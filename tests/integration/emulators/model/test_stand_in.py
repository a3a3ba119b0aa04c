"""The stand-in over real HTTP: what it says it is, what it knows, how it misbehaves, what it writes down."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from emulators.arena.scenario import Scenario
from emulators.clock import Clock
from emulators.model.app import PREFIX, ModelApp
from emulators.model.options import ModelOptions
from emulators.serve import ArenaEmulator, ModelEmulator
from emulators.server import ThreadedServer
from shared.errors import UsageError
from tests.support.scenarios import build
from tests.support.scripted import ScriptedServer, reply

PLAN = {"type": "object", "properties": {"outcome": {}, "steps": {}, "answer": {}, "effects": {}}}
KEY = "sk-stand-in-dev-1"


def scenario() -> Scenario:
    return build("hub", 5, 7)


def other() -> Scenario:
    """The same truth in other words."""
    return build("hub", 5, 8)


class Client:
    """Asks the stand-in as any client would."""

    def __init__(self, url: str, key: str = KEY) -> None:
        self.http = httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=30)

    def ask(self, *texts: str, **body: Any) -> httpx.Response:
        messages = [{"role": "user", "content": text} for text in texts]
        return self.http.post(
            "chat/completions", json={"model": "scrimmage/stand-in", "messages": messages, **body}
        )

    def plan(self, *texts: str) -> Any:
        schema = {"type": "json_schema", "json_schema": {"name": "plan", "schema": PLAN}}
        answer = self.ask(*texts, response_format=schema).json()
        return json.loads(answer["choices"][0]["message"]["content"])

    def conduct(self, **fields: Any) -> httpx.Response:
        return self.http.post("../../_emulator/conduct", json=fields)


@pytest.fixture
def client() -> Iterator[Client]:
    options = ModelOptions(scenarios=("hub:5:7", "hub:5:8"))
    with ThreadedServer(ModelApp(options, build, Clock())) as server:
        client = Client(server.url + PREFIX + "/")
        yield client
        client.http.close()


def test_it_says_everywhere_that_it_is_a_stand_in(client: Client) -> None:
    answer = client.ask("Hello?").json()
    assert (answer["model"], answer["provider"]) == ("scrimmage/stand-in", "stand-in")
    assert "stand-in, not a language model" in answer["choices"][0]["message"]["content"]
    (model,) = client.http.get("models").json()["data"]
    assert "no language model" in model["name"]
    assert float(model["pricing"]["prompt"]) == 0.25e-6


def test_it_serves_the_reference_plan_of_the_task_in_the_prompt(client: Client) -> None:
    for task in scenario().tasks:
        plan = client.plan("\n".join(task.files), f"Plan this:\n{task.instruction}\nBe careful.")
        assert [step["kind"] for step in plan["steps"]] == [step.kind for step in task.reference.steps]
        assert plan["answer"] == task.reference.answer
        assert plan["outcome"] == task.expected_outcome


def test_of_two_runs_with_the_same_instruction_the_files_tell_which_it_is(client: Client) -> None:
    shared = {task.instruction for task in scenario().tasks} & {task.instruction for task in other().tasks}
    for instruction in shared:
        for run in (scenario(), other()):
            task = next(task for task in run.tasks if task.instruction == instruction)
            paths = {step.args.get("path") for step in task.reference.steps}
            plan = client.plan("\n".join(task.files), instruction)
            assert {step.get("path") for step in plan["steps"]} == paths


def test_a_new_run_with_the_instruction_of_an_older_one_is_told_apart_from_it() -> None:
    (instruction,) = {task.instruction for task in scenario().tasks} & {
        task.instruction for task in other().tasks
    }
    task = next(task for task in other().tasks if task.instruction == instruction)
    with ScriptedServer() as arena:
        arena.on("POST", "*", forever=reply({}))
        arena.on(
            "GET",
            "*/scenarios",
            forever=reply({"scenarios": [{"theme": "hub", "seed": 5, "variation": 8}]}),
        )
        with ModelEmulator.start(scenarios=("hub:5:7",), arena_url=arena.url) as model:
            client = Client(model.url + "/", model.key)
            plan = client.plan("\n".join(task.files), instruction)
            client.http.close()
    assert [step.get("path") for step in plan["steps"]] == [
        step.args.get("path") for step in task.reference.steps
    ]


def test_it_reads_only_images_that_it_knows(client: Client) -> None:
    sha256, text = next(iter(scenario().image_texts.items()))

    def read(data: bytes) -> str:
        url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
        parts = [{"type": "text", "text": "Read it."}, {"type": "image_url", "image_url": {"url": url}}]
        body = {"model": "scrimmage/stand-in", "messages": [{"role": "user", "content": parts}]}
        answer = client.http.post("chat/completions", json=body).json()
        content: str = answer["choices"][0]["message"]["content"]
        return content

    assert read(scenario().blobs[sha256]) == text
    assert "no such image" in read(b"\x89PNG another")


def test_first_plans_go_wrong_at_the_rate_it_was_told_and_second_ones_do_not(client: Client) -> None:
    assert client.conduct(wrong=0.5).status_code == 200

    def wrong() -> list[str]:
        plans = {
            task.task_id: client.plan("\n".join(task.files), task.instruction) for task in scenario().tasks
        }
        right = {task.task_id: [step.args for step in task.reference.steps] for task in scenario().tasks}
        return [
            task.task_id
            for task in scenario().tasks
            if plans[task.task_id]["answer"] != task.reference.answer
            or [
                {name: value for name, value in step.items() if name not in {"kind", "name"}}
                for step in plans[task.task_id]["steps"]
            ]
            != right[task.task_id]
        ]

    assert 8 <= len(wrong()) <= 22
    assert wrong() == []


@pytest.mark.parametrize("form", ["seconds", "date", "none"])
def test_it_can_be_overloaded_inside_a_200_and_by_status(client: Client, form: str) -> None:
    client.conduct(limited=1.0)
    inside = client.ask("Hello?")
    assert (inside.status_code, inside.json()["error"]["code"]) == (200, 429)
    client.conduct(limited=0.0, down=60)
    assert client.ask("Hello?").status_code == 503
    assert client.conduct(down=0, retry_after=form).json()["retry_after"] == form
    assert client.ask("Hello?").status_code == 200


def test_a_wrong_conduct_is_refused_and_changes_nothing(client: Client) -> None:
    answer = client.conduct(wrong=2)
    assert answer.status_code == 400
    assert "wrong" in answer.json()["error"]["message"]
    assert client.ask("Hello?").status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not JSON"),
        (b'{"messages": []}', 400, "messages"),
        (b'{"model": "gpt", "messages": [{"role": "user", "content": "x"}]}', 404, "only scrimmage/stand-in"),
    ],
)
def test_bad_requests_say_what_is_wrong(client: Client, body: bytes, status: int, words: str) -> None:
    answer = client.http.post("chat/completions", content=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]["message"]


def test_unknown_keys_are_refused(client: Client) -> None:
    client.http.headers["authorization"] = "Bearer sk-other"
    assert client.ask("Hello?").status_code == 401


def test_each_key_has_its_books(client: Client) -> None:
    answers = [client.ask("word " * 2000).json() for _ in range(2)]
    assert answers[0]["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    assert answers[1]["usage"]["prompt_tokens_details"]["cached_tokens"] > 2000
    usage = sum(answer["usage"]["cost"] for answer in answers)
    assert client.http.get("key").json()["data"]["usage"] == pytest.approx(usage, abs=1e-12)
    books = client.http.get("../../_emulator/books").json()
    assert books["keys"]["team-1 dev"]["micro_usd"] == round(usage * 1e6)
    assert books["keys"]["team-1 dev"]["calls"] == 2
    assert books["keys"]["team-1 final"]["calls"] == 0


def test_it_learns_the_arenas_runs_and_tells_what_they_cost() -> None:
    with ArenaEmulator.start() as arena, ModelEmulator.start(arena_url=arena.url) as model:
        with httpx.Client(base_url=arena.url, headers={"authorization": f"Bearer {arena.key}"}) as http:
            run = http.post("/runs", json={"kind": "dev"}, timeout=30).json()
            client = Client(model.url + "/", model.key)
            plan = client.plan(run["tasks"][3]["instruction"])
            client.http.close()
            assert "outcome" in plan
            cost = http.post(f"/runs/{run['run_id']}/finish").json()["cost_usd"]
        assert round(cost * 1e6) == model.books()["keys"]["team-1 dev"]["micro_usd"] > 0


def test_it_listens_beyond_this_machine_only_with_a_password() -> None:
    with pytest.raises(UsageError, match=r"emulate model: .*password"):
        ModelOptions.of({"host": "0.0.0.0"})
    with pytest.raises(UsageError, match="scenarios"):
        ModelOptions.of({"scenarios": ("hub",)})
