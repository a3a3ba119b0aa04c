"""The bucket's Lua against a small model, on a clock that the tests move."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.pool import keys
from shared.pool.bucket import Lane
from shared.pool.connection import Patient
from tests.support.examples import examples

SECOND = 1_000_000
START = 1_800_000_000 * SECOND
FOREVER = 10**15
_names = itertools.count()


@dataclass
class Script:
    """One bucket, called at times that the test chooses."""

    patient: Patient
    interval: int = 50_000
    burst: int = 5
    now: int = START
    name: str = field(default_factory=lambda: f"script-{next(_names)}")

    def call(self, action: str, *words: int | str) -> Any:
        names = [keys.bucket(self.name), keys.BORN]
        return self.patient.script("bucket")(names, [self.now, action, self.interval, self.burst, *words])

    def book(self, lane: Lane, *, most: int = FOREVER, again: bool = False) -> tuple[str, int]:
        verdict, wait, _ = self.call("book", int(lane), most, int(again), 1)
        return ("go", "ask again", "too late")[verdict], wait

    def available(self) -> int:
        return int(self.call("look")[2])


def earliest(granted: list[int], now: int, interval: int, burst: int) -> int:
    """The model: the first moment at which no window of any length holds more than burst + rate x t.

    Counted are half-open windows that begin with a grant: the k-th grant from it on may come (k - burst)
    intervals later at the soonest.
    """
    total = len(granted)
    return max(
        [now, *(at + (total - number + 1 - burst) * interval for number, at in enumerate(granted))],
    )


steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(0, 3 * SECOND)),
        st.tuples(st.just("set back"), st.integers(1, 20 * SECOND)),
        st.tuples(st.just("pause"), st.integers(1, 5 * SECOND)),
        st.tuples(
            st.just("book"),
            st.sampled_from(Lane),
            st.sampled_from([0, 200_000, SECOND, FOREVER]),
            st.booleans(),
        ),
    ),
    max_size=60,
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps, interval=st.sampled_from([1_000, 50_252, 333_334]), burst=st.integers(1, 6))
def test_each_booking_goes_as_soon_as_the_law_of_windows_allows(
    patient: Patient, steps: list[tuple[Any, ...]], interval: int, burst: int
) -> None:
    script = Script(patient, interval, burst)
    granted: list[int] = []
    paused = 0
    for kind, *words in steps:
        if kind == "wait":
            script.now += words[0]
        elif kind == "set back":
            script.book(Lane.FINISH, most=-1)  # books nothing, but the script sees the time, here and below
            script.now -= words[0]
            script.book(Lane.FINISH, most=-1)
            granted = [at - words[0] for at in granted]
            paused -= words[0]
        elif kind == "pause":
            till = script.now + words[0]
            if paused <= script.now or till > paused + 250_000:
                paused = till
                granted = [till] * (burst - 1)
            script.call("pause", words[0], "channel")
        else:
            lane, most, again = words
            go = max(paused, earliest(granted, script.now, interval, burst))
            verdict, wait = script.book(lane, most=most, again=again)
            if verdict == "go":
                assert script.now + wait == go
                assert wait <= most
                granted.append(go)
            elif verdict == "too late":
                assert wait > most
            else:
                assert lane is not Lane.FINISH
                assert 0 < wait <= most
            if lane is Lane.FINISH:
                assert (verdict == "go") == (go - script.now <= most)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(heaps=st.lists(st.tuples(st.sampled_from([Lane.TOOLS, Lane.FETCH]), st.integers(0, 40)), max_size=60))
def test_a_lower_lane_never_books_far_ahead_but_for_its_tenth(
    patient: Patient, heaps: list[tuple[Lane, int]]
) -> None:
    script = Script(patient)
    far: dict[Lane, list[int]] = {Lane.TOOLS: [], Lane.FETCH: []}
    for lane, intervals in heaps:
        script.now += intervals * 1_000
        verdict, wait = script.book(lane, again=True)
        if verdict == "go" and wait > SECOND // 2:
            far[lane].append(script.now)
    for times in far.values():
        for first, later in itertools.combinations(range(len(times)), 2):
            span = times[later] - times[first]
            assert later - first + 1 <= 2 + span / (10 * script.interval)


def play(script: Script, callers: dict[Lane, int], seconds: int) -> dict[Lane, int]:
    """Let callers of each lane book, go, and at once book again; returns who got how many, burst excluded."""
    while script.book(Lane.FINISH, most=0)[0] == "go":
        pass
    agenda = [(script.now, lane, False) for lane, number in callers.items() for _ in range(number)]
    got = dict.fromkeys(callers, 0)
    end = script.now + seconds * SECOND
    while agenda:
        agenda.sort()
        script.now, lane, again = agenda.pop(0)
        if script.now >= end:
            break
        verdict, wait = script.book(lane, again=again)
        if verdict == "go":
            got[lane] += 1
        agenda.append((script.now + wait, lane, verdict == "ask again"))
    return got


def test_a_lane_alone_gets_the_whole_rate(patient: Patient) -> None:
    for lane in Lane:
        got = play(Script(patient), {lane: 30}, 10)
        assert got[lane] == pytest.approx(200, abs=30)  # 20/s, and what is booked ahead at the end


@pytest.mark.parametrize("callers", [4, 30])
def test_fetches_get_a_tenth_and_no_more_while_tools_saturate(patient: Patient, callers: int) -> None:
    got = play(Script(patient), {Lane.TOOLS: callers, Lane.FETCH: callers}, 60)
    assert got[Lane.FETCH] / sum(got.values()) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("callers", [4, 30])
def test_each_lower_lane_gets_a_tenth_while_finishing_saturates(patient: Patient, callers: int) -> None:
    got = play(Script(patient), {Lane.FINISH: callers, Lane.TOOLS: callers, Lane.FETCH: callers}, 60)
    assert got[Lane.TOOLS] / sum(got.values()) == pytest.approx(0.1, abs=0.01)
    assert got[Lane.FETCH] / sum(got.values()) == pytest.approx(0.1, abs=0.01)


def test_a_finish_waits_at_most_half_a_second_behind_a_heap_of_fetches(patient: Patient) -> None:
    script = Script(patient)
    for _ in range(200):
        script.book(Lane.FETCH)
    verdict, wait = script.book(Lane.FINISH)
    assert verdict == "go"
    assert wait <= SECOND // 2 + 3 * script.interval  # the fetches' tenth comes on top


def test_callers_that_are_told_to_ask_again_come_one_by_one(patient: Patient) -> None:
    script = Script(patient)
    answers = [script.book(Lane.TOOLS) for _ in range(100)]
    asks = [wait for verdict, wait in answers if verdict == "ask again"]
    assert len(asks) > 50
    assert [later - sooner for sooner, later in itertools.pairwise(asks)] == [script.interval] * (
        len(asks) - 1
    )


def test_a_new_caller_does_not_overtake_those_who_were_told_to_ask_again(patient: Patient) -> None:
    script = Script(patient)
    verdict, wait = "go", 0
    while verdict == "go":
        verdict, wait = script.book(Lane.TOOLS)
    script.now += wait
    assert script.book(Lane.TOOLS)[0] == "ask again"
    assert script.book(Lane.TOOLS, again=True)[0] == "go"


def test_callers_that_never_come_back_do_not_hold_up_new_ones(patient: Patient) -> None:
    script = Script(patient)
    for _ in range(200):
        script.book(Lane.TOOLS)  # nobody of them asks again
    script.now += SECOND
    assert script.book(Lane.TOOLS) == ("go", 0)


def test_what_is_refused_or_told_to_ask_again_consumes_nothing(patient: Patient) -> None:
    script = Script(patient, burst=1)
    assert script.book(Lane.FINISH) == ("go", 0)
    for _ in range(20):
        assert script.book(Lane.FINISH, most=script.interval - 1)[0] == "too late"
    assert script.book(Lane.FINISH) == ("go", script.interval)
    for _ in range(40):
        script.book(Lane.FETCH, most=0)
    script.now += 2 * script.interval
    assert script.book(Lane.FINISH, most=0) == ("go", 0)


def test_a_bucket_on_a_new_data_folder_is_full(patient: Patient) -> None:
    assert Script(patient).available() == 5


def test_a_missing_bucket_has_filled_up_since_the_data_set_was_born(patient: Patient) -> None:
    patient.client.set(keys.BORN, START - 150_000)
    script = Script(patient)
    assert script.available() == 3
    script.now += SECOND
    assert script.available() == 5


def test_a_bucket_that_was_lost_with_everything_starts_empty(patient: Patient) -> None:
    script = Script(patient)
    script.book(Lane.FINISH)
    patient.client.flushall()
    assert script.book(Lane.FINISH, most=0)[0] == "too late"
    assert script.book(Lane.FINISH) == ("go", script.interval)


def test_a_pause_lets_nothing_go_and_then_one_after_the_other(patient: Patient) -> None:
    script = Script(patient)
    script.call("pause", 2 * SECOND, "channel")
    assert script.available() == 0
    assert [script.book(Lane.FINISH)[1] for _ in range(3)] == [2_000_000, 2_050_000, 2_100_000]


def test_the_429s_of_one_episode_pause_once(patient: Patient) -> None:
    script = Script(patient)
    assert [script.call("pause", SECOND, "channel") for _ in range(4)] == [1, 0, 0, 0]
    script.now += SECOND + 1
    assert script.call("pause", SECOND, "channel") == 1


def test_a_longer_retry_after_in_the_same_episode_lengthens_it(patient: Patient) -> None:
    script = Script(patient)
    script.call("pause", SECOND, "channel")
    assert script.call("pause", 3 * SECOND, "channel") == 0
    assert script.book(Lane.FINISH)[1] == 3 * SECOND


def test_a_pause_voids_what_was_booked(patient: Patient) -> None:
    script = Script(patient)
    epoch = script.call("book", int(Lane.FINISH), FOREVER, 0, 1)[2]
    assert script.call("check", epoch) == 1
    script.now += 1
    script.call("pause", SECOND, "channel")
    assert script.call("check", epoch) == 0
    script.now += 5 * SECOND
    assert script.call("check", epoch) == 0


def test_times_keep_all_their_digits(patient: Patient) -> None:
    script = Script(patient, now=START + 123_457)
    script.book(Lane.FINISH)
    stored = patient.client.hgetall(keys.bucket(script.name))
    assert stored["seen"] == str(START + 123_457)
    assert all(value.isdigit() for value in stored.values())
