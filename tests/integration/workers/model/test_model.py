"""The model client against the stand-in, over real HTTP and a real Redis."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from emulators.arena.scenario import Scenario
from emulators.arena.scenario.model import ScenarioTask
from emulators.model.conduct import Conduct
from shared.errors import CapReached, NotAuthorised, Refused, SettingsError, Unavailable
from shared.models import Kind
from shared.pool.pool import Pool
from tests.support.emulated import ModelHere
from tests.support.model import SCENARIO as KNOWN
from tests.support.model import SEED, THEME, VARIATION, Playing
from tests.support.scenarios import build
from workers.model import assistant, system, tool, tool_result, user

PLAN = {"type": "object", "properties": {"outcome": {}, "steps": {}, "answer": {}, "effects": {}}}
QUESTION = [user("What is this?")]

Play = Callable[..., Playing]


def scenario() -> Scenario:
    return build(THEME, SEED, VARIATION)


def first_task() -> ScenarioTask:
    return scenario().tasks[0]


def used(stand_in: ModelHere, key: str = "team-1 dev") -> dict[str, int]:
    numbers: dict[str, int] = stand_in.books()["keys"][key]
    return numbers


def test_a_schema_brings_json_with_usage_cost_and_provider(play: Play, stand_in: ModelHere) -> None:
    before = used(stand_in)
    task = play()
    reply = task.model.chat([system("Plan."), user(first_task().instruction)], schema=PLAN, label="plan")
    assert isinstance(reply.parsed, dict)
    assert reply.parsed["outcome"] == first_task().expected_outcome
    assert [step["kind"] for step in reply.parsed["steps"]] == [
        step.kind for step in first_task().reference.steps
    ]
    after = used(stand_in)
    assert reply.cost == after["micro_usd"] - before["micro_usd"] > 0
    assert reply.usage.tokens_in == after["tokens_in"] - before["tokens_in"]
    assert reply.provider == "stand-in"
    (note,) = task.notes()
    assert note["label"] == "plan"
    assert note["cost_usd"] == reply.cost / 1e6
    assert (note["provider"], note["tokens_out"]) == ("stand-in", reply.usage.tokens_out)
    assert note["seconds"] > 0


def test_json_is_found_in_talk_and_fences(play: Play, stand_in: ModelHere) -> None:
    stand_in.control("conduct", wrapped=1.0)
    reply = play().model.chat([user(first_task().instruction)], schema=PLAN)
    assert reply.text.startswith("Sure!")
    assert isinstance(reply.parsed, dict)
    assert reply.parsed["answer"] == first_task().reference.answer


def test_json_that_breaks_off_is_an_answer_without_json(play: Play, stand_in: ModelHere) -> None:
    stand_in.control("conduct", malformed=1.0)
    reply = play().model.chat([user(first_task().instruction)], schema=PLAN)
    assert reply.text.startswith('{"outcome"')
    assert reply.parsed is None or "outcome" not in str(reply.parsed)


def test_an_image_is_sent_whole(play: Play) -> None:
    sha256, text = next(iter(scenario().image_texts.items()))
    image = scenario().blobs[sha256]
    assert hashlib.sha256(image).hexdigest() == sha256
    assert play().model.chat([user("Read it.", images=[image])]).text == text


def test_tools_go_out_and_tool_calls_come_back(play: Play) -> None:
    done = tool("done", "ends the task", {"type": "object", "properties": {"outcome": {}, "answer": {}}})
    model = play().model
    talk = [user(first_task().instruction)]
    reply = model.chat(talk, tools=[done])
    (call,) = reply.tool_calls
    assert (call.name, call.args) == (
        "done",
        {"outcome": str(first_task().expected_outcome), "answer": first_task().expected_answer},
    )
    again = model.chat([*talk, assistant(reply), tool_result(call, {"ok": True})], tools=[done])
    assert again.tool_calls[0].name == "done"


def test_a_refusal_is_an_answer(play: Play, stand_in: ModelHere) -> None:
    stand_in.control("conduct", refusing=1.0)
    reply = play().model.chat(QUESTION)
    assert reply.refusal
    assert reply.text == ""


def test_a_repeated_beginning_is_billed_as_cached(play: Play) -> None:
    model = play().model
    first = model.chat([system("the same for all tasks " * 400), user("one")])
    second = model.chat([system("the same for all tasks " * 400), user("two")])
    assert first.usage.tokens_cached == 0
    assert second.usage.tokens_cached > 2000
    assert second.cost < first.cost / 2


@pytest.mark.parametrize("conduct", [{"empty": 0.4}, {"limited": 0.3}])
def test_the_ledger_equals_the_stand_ins_books_to_the_micro_dollar(
    play: Play, stand_in: ModelHere, conduct: dict[str, float]
) -> None:
    """Over retries and cache hits; an answer without content is billed, an error is not."""
    before = used(stand_in)
    stand_in.control("conduct", **conduct)
    task = play(model_cache=True, settings={"model_concurrency": 4})
    model = task.model
    for number in range(5):
        for _ in range(2):
            try:
                model.chat([user(f"{number}: {first_task().instruction}")], schema=PLAN)
            except Unavailable:
                assert conduct
    after = used(stand_in)
    totals = task.pool.spend.totals(task.ref)
    assert totals.settled == after["micro_usd"] - before["micro_usd"]
    assert totals.unsettled == 0
    assert totals.tokens_in == after["tokens_in"] - before["tokens_in"]
    assert totals.tokens_cached == after["tokens_cached"] - before["tokens_cached"]
    assert totals.tokens_out == after["tokens_out"] - before["tokens_out"]
    assert any(note.get("replayed") for note in task.notes())


def test_an_identical_call_is_replayed_at_no_cost_where_the_run_says_so(
    play: Play, stand_in: ModelHere
) -> None:
    before = used(stand_in)["calls"]
    replaying = play(task_id="t1", model_cache=True).model
    first, second = (replaying.chat(QUESTION) for _ in range(2))
    other = replaying.chat(QUESTION, max_tokens=10)
    assert (first.replayed, second.replayed, other.replayed) == (False, True, False)
    assert (second.text, second.cost) == (first.text, 0)
    assert used(stand_in)["calls"] == before + 2
    elsewhere = play(run_id="run_2", model_cache=False).model
    assert not elsewhere.chat(QUESTION).replayed


def test_caps_hold_and_say_which(play: Play, stand_in: ModelHere) -> None:
    before = used(stand_in)["calls"]
    task = play(run_usd=0.000001)
    with pytest.raises(CapReached, match="under the cap of the run"):
        task.model.chat(QUESTION, label="plan")
    assert used(stand_in)["calls"] == before
    assert task.pool.spend.totals(task.ref).calls == 0
    (note,) = task.notes("cap_reached")
    assert note["cap"] == "run"


def spend_all(tasks: list[Playing]) -> int:
    """Ask for all tasks at once until a cap ends it. Returns how many answers came."""

    def spend(task: Playing) -> int:
        model, calls = task.model, 0
        while True:
            try:
                model.chat([user(f"{task.lease.task_id} {calls} " + "word " * 2000)], max_tokens=500)
            except CapReached:
                return calls
            calls += 1

    with ThreadPoolExecutor(len(tasks)) as threads:
        return sum(threads.map(spend, tasks))


def test_no_cap_is_overrun_by_many_at_once(play: Play, stand_in: ModelHere) -> None:
    stand_in.control("conduct", slow=0.02)
    cap = 0.05
    tasks = [play(task_id=f"t{number}", tasks=20, run_usd=cap) for number in range(1, 21)]
    assert spend_all(tasks) > 20
    totals = tasks[0].pool.spend.totals(tasks[0].ref)
    assert totals.unsettled == 0
    assert cap * 0.7 < totals.usd <= cap


def test_where_estimates_are_far_too_low_a_cap_is_overrun_by_one_call_s_error(play: Play) -> None:
    """The price is set to a fiftieth of what the stand-in bills."""
    cap = 0.02
    with ModelHere(scenarios=(KNOWN,), conduct=Conduct(slow=0.05)) as dear:
        tasks = [
            play(
                dear.url, task_id=f"t{number}", settings={"model_price": "0.005/0.04"}, tasks=16, run_usd=cap
            )
            for number in range(1, 17)
        ]
        assert spend_all(tasks) > 1
        spent = used(dear)
    one_call = spent["micro_usd"] / spent["calls"]
    assert tasks[0].pool.spend.totals(tasks[0].ref).settled == spent["micro_usd"]
    assert spent["micro_usd"] <= cap * 1e6 + one_call


def test_a_model_that_is_away_for_long_is_unavailable(play: Play, stand_in: ModelHere) -> None:
    stand_in.control("conduct", down=60)
    task = play()
    task.seconds = 2.0
    began = time.monotonic()
    with pytest.raises(Unavailable):
        task.model.chat(QUESTION)
    assert time.monotonic() - began < 4
    assert task.pool.spend.totals(task.ref).usd == 0


def test_a_key_that_is_refused_is_no_fault_of_the_solver(play: Play) -> None:
    task = play(settings={"model_key": "sk-unknown-key"})
    with pytest.raises(NotAuthorised) as caught:
        task.model.chat(QUESTION)
    assert "sk-unknown-key" not in str(caught.value)
    assert task.pool.spend.totals(task.ref).usd == 0


def test_a_model_that_nobody_serves_is_a_wrong_setting(play: Play) -> None:
    with pytest.raises(SettingsError, match="SCRIMMAGE_MODEL"):
        play(settings={"model": "no/such-model"}).model.chat(QUESTION)
    with pytest.raises(SettingsError, match="provider"):
        play(run_id="run_2", settings={"model_provider": "elsewhere"}).model.chat(QUESTION)
    assert play(run_id="run_3", settings={"model_provider": "elsewhere,stand-in"}).model.chat(QUESTION).text


def test_a_request_that_is_rejected_is_not_sent_again(play: Play) -> None:
    task = play()
    with pytest.raises(Refused, match="messages"):
        task.model.chat([])
    assert len(task.pool.spend.totals(task.ref).by_task) <= 1


def test_a_final_run_uses_its_own_key_and_a_dev_run_never_does(
    play: Play, stand_in: ModelHere, pool: Pool
) -> None:
    dev, final = used(stand_in)["calls"], used(stand_in, "team-1 final")["calls"]
    play(run_id="run_final", kind=Kind.FINAL).model.chat(QUESTION)
    assert (used(stand_in)["calls"], used(stand_in, "team-1 final")["calls"]) == (dev, final + 1)
    play(run_id="run_dev").model.chat(QUESTION)
    assert (used(stand_in)["calls"], used(stand_in, "team-1 final")["calls"]) == (dev + 1, final + 1)
    with pytest.raises(SettingsError, match="EVAL_MODEL_KEY"):
        _ = play(run_id="run_late", kind=Kind.FINAL, settings={"eval_model_key": None}).model


def test_where_the_answer_names_no_cost_the_price_list_does(play: Play) -> None:
    with ModelHere(scenarios=(KNOWN,), usage_cost=False) as silent:
        reply = play(silent.url).model.chat([user(first_task().instruction)], schema=PLAN)
        assert reply.cost == used(silent)["micro_usd"]
        chosen = play(silent.url, run_id="run_2", settings={"model_price": "100/200"}).model.chat(QUESTION)
        assert chosen.cost == 100 * chosen.usage.tokens_in + 200 * chosen.usage.tokens_out
