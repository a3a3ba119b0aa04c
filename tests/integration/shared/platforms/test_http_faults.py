"""Each way in which an answer goes wrong, for reads and for writes."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import pytest
from pydantic import JsonValue

from shared.deadline import Deadline
from shared.errors import (
    Conflict,
    DeadlinePassed,
    NotAuthorised,
    NotFound,
    Refused,
    Unavailable,
    Unclear,
    UsageError,
)
from shared.platforms.arena.models import Me
from shared.platforms.http import Http
from shared.platforms.retry import LONGEST_WAIT, TRIES
from shared.pool.bucket import Lane
from tests.integration.shared.platforms.conftest import MakeHttp, RecordingBucket
from tests.support import scripted
from tests.support.scripted import Behaviour, Connection, ScriptedServer, reply

GOOD = reply({"team": {"id": "team-1"}})

LOST: dict[str, Behaviour] = {
    "connection closed": scripted.drop,
    "connection reset": scripted.reset,
    "body cut off": scripted.truncate,
    "chunked body cut off": scripted.truncate_chunked,
    "broken compression": scripted.bad_gzip,
    "not HTTP": scripted.no_http,
    "500 of the platform": reply({"error": "platform error"}, status=500),
    "500 of a gateway": scripted.html(500),
    "502": scripted.html(502),
    "503": scripted.html(503),
    "504": scripted.html(504),
    "408": scripted.html(408),
    "200 with a page": scripted.html(200),
    "200 with half of the JSON": reply(b'{"team": {"id"'),
    "200 with nothing": reply(b""),
    "200 with another shape": reply(["team"]),
    "200 with binary": reply(bytes(range(256))),
    "200 with a bottomless list": reply(b"[" * 100_000),
    "304": reply(b"", status=304),
}
"""Answers that leave open whether the request was carried out."""


def ask(
    http: Http,
    method: str = "GET",
    *,
    write: bool = False,
    deadline: Deadline | None = None,
    body: JsonValue = None,
) -> Me:
    return http.json(
        method,
        "/me",
        Me.read,
        lane=Lane.TOOLS,
        deadline=deadline or Deadline.after(20),
        body=body,
        write=write,
    ).data


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
def test_a_read_is_asked_for_again(http: Http, server: ScriptedServer, fault: Behaviour) -> None:
    server.on("GET", "/me", fault, fault, GOOD)

    assert ask(http).team is not None
    assert len(server.seen("GET", "/me")) == 3


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
def test_a_write_is_not_repeated_and_its_fate_called_unclear(
    http: Http, server: ScriptedServer, fault: Behaviour
) -> None:
    server.on("POST", "/me", fault, GOOD)

    with pytest.raises(Unclear, match="POST /me"):
        ask(http, "POST", write=True, body={"a": 1})
    assert len(server.seen("POST", "/me")) == 1


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
def test_a_read_that_never_succeeds_ends_as_unavailable(
    http: Http, server: ScriptedServer, waits: list[float], fault: Behaviour
) -> None:
    server.on("GET", "/me", forever=fault)

    with pytest.raises(Unavailable) as caught:
        ask(http)
    assert not isinstance(caught.value, Unclear)
    assert len(server.seen()) == TRIES
    assert len(waits) == TRIES - 1


def test_waits_double_up_to_a_bound_and_are_jittered(make_http: MakeHttp, server: ScriptedServer) -> None:
    waits: list[float] = []
    draws = iter([0.0, 0.999, 0.5, 0.0, 0.0, 0.0, 0.999])
    server.on("GET", "/me", forever=scripted.html(503))

    with pytest.raises(Unavailable):
        ask(
            make_http(server.url, sleep=waits.append, random=lambda: next(draws)),
            deadline=Deadline.after(600),
        )

    assert waits == pytest.approx([0.125, 0.5, 0.75, 1.0, 2.0, 4.0, LONGEST_WAIT], rel=0.01)


def test_a_hanging_answer_is_given_up_after_the_time_out(make_http: MakeHttp, server: ScriptedServer) -> None:
    server.on("GET", "/me", scripted.hang, forever=GOOD)
    server.on("POST", "/me", scripted.hang)
    http = make_http(server.url, timeout=0.4)

    assert ask(http).team is not None
    with pytest.raises(Unclear):
        ask(http, "POST", write=True)


def test_a_body_that_drips_for_ever_is_given_up(make_http: MakeHttp, server: ScriptedServer) -> None:
    server.on("GET", "/me", scripted.drip, forever=GOOD)

    assert ask(make_http(server.url, timeout=0.4)).team is not None


def test_a_connection_that_was_never_made_is_tried_again_even_for_a_write(
    make_http: MakeHttp, waits: list[float]
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        http = make_http(f"http://127.0.0.1:{unused.getsockname()[1]}")

        with pytest.raises(Unavailable) as caught:
            ask(http, "POST", write=True)
    assert not isinstance(caught.value, Unclear)
    assert len(waits) == TRIES - 1


@pytest.mark.parametrize(("form", "write"), [("seconds", True), ("date", False)])
def test_a_429_pauses_the_bucket_and_the_request_is_sent_again(
    make_http: MakeHttp, server: ScriptedServer, bucket: RecordingBucket, form: str, write: bool
) -> None:
    clock = time.time() + 3600  # the server's clock is an hour ahead: a date is measured from its own Date
    told = "1" if form == "seconds" else formatdate(clock + 1, usegmt=True)
    headers = {"Retry-After": told, "Date": formatdate(clock, usegmt=True)}
    body = {"error": "slow down"} if form == "seconds" else b"<html>slow down</html>"
    server.on("POST", "/me", reply(body, status=429, headers=headers), GOOD)

    assert ask(make_http(server.url, sleep=time.sleep), "POST", write=write).team is not None

    assert [began for _, began in bucket.pauses] == [True]
    assert bucket.pauses[0][0] == pytest.approx(1.0)
    assert server.times[1] - server.times[0] > 0.9


def test_many_429s_at_once_are_one_pause_for_all(
    make_http: MakeHttp, server: ScriptedServer, bucket: RecordingBucket
) -> None:
    together = threading.Barrier(4)

    def refuse(connection: Connection) -> bool:
        together.wait(10)
        return reply({"error": "slow down"}, status=429, headers={"Retry-After": "1"})(connection)

    server.on("GET", "/me", refuse, refuse, refuse, refuse, forever=GOOD)
    http = make_http(server.url, sleep=time.sleep)
    with ThreadPoolExecutor(4) as threads:
        for answer in [threads.submit(ask, http) for _ in range(4)]:
            assert answer.result().team is not None

    assert sorted(began for _, began in bucket.pauses) == [False, False, False, True]
    assert min(server.times[4:]) - max(server.times[:4]) > 0.9


def test_a_retry_after_of_days_is_asked_about_again_sooner(
    http: Http, server: ScriptedServer, bucket: RecordingBucket
) -> None:
    server.on("GET", "/me", reply({}, status=429, headers={"Retry-After": "86400"}))

    with pytest.raises(DeadlinePassed):
        ask(http, deadline=Deadline.after(5))
    assert bucket.pauses[0][0] == 120


def test_a_503_waits_as_long_as_it_says(http: Http, server: ScriptedServer, waits: list[float]) -> None:
    server.on("GET", "/me", scripted.html(503, Retry_After="7"), GOOD)

    ask(http)
    assert waits == [7.0]


def test_tries_end_with_the_deadline(make_http: MakeHttp, server: ScriptedServer) -> None:
    server.on("GET", "/me", forever=scripted.html(503))
    started = time.monotonic()

    with pytest.raises(DeadlinePassed, match=r"GET /me.*503"):
        ask(make_http(server.url, sleep=time.sleep), deadline=Deadline.after(1))
    assert time.monotonic() - started < 3


def test_a_hanging_answer_ends_with_the_deadline(http: Http, server: ScriptedServer) -> None:
    server.on("GET", "/me", forever=scripted.hang)
    server.on("POST", "/me", forever=scripted.hang)
    started = time.monotonic()

    with pytest.raises(DeadlinePassed):
        ask(http, deadline=Deadline.after(0.4))
    with pytest.raises(Unclear):
        ask(http, "POST", write=True, deadline=Deadline.after(0.4))
    assert time.monotonic() - started < 4, "not the five seconds of the time-out"


def test_nothing_is_sent_after_the_deadline(http: Http, server: ScriptedServer) -> None:
    with pytest.raises(DeadlinePassed):
        ask(http, deadline=Deadline.after(0))
    assert server.requests == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused),
        (401, NotAuthorised),
        (403, NotAuthorised),
        (404, NotFound),
        (409, Conflict),
        (422, Refused),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_a_no_is_told_in_the_platforms_words_and_not_repeated(
    http: Http, server: ScriptedServer, status: int, kind: type[Refused], write: bool
) -> None:
    server.on("POST", "/me", reply({"error": "kind: must be dev or final"}, status=status))

    with pytest.raises(Refused, match=r"^kind: must be dev or final$") as caught:
        ask(http, "POST", write=write)
    assert type(caught.value) is kind
    assert caught.value.status == status
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "deep"}}, "deep"),
        ({"message": "other"}, "other"),
        ({"detail": [{"loc": "seed"}]}, "seed"),
        (b"<html>nothing here</html>", "HTTP 404 without a message"),
        (b"", "HTTP 404 without a message"),
    ],
)
def test_a_no_in_another_form_is_understood(
    http: Http, server: ScriptedServer, body: JsonValue | bytes, message: str
) -> None:
    server.on("GET", "/me", reply(body, status=404))

    with pytest.raises(NotFound, match=message):
        ask(http)


def test_a_message_of_the_platform_is_one_bounded_line(http: Http, server: ScriptedServer) -> None:
    server.on("GET", "/me", reply({"error": "a\x1b[31mb\r\nc\u202ed" + "x" * 10_000}, status=400))

    with pytest.raises(Refused) as caught:
        ask(http)
    message = str(caught.value)
    assert message.startswith("a [31mb c d")
    assert len(message) <= 300


def test_a_body_that_is_not_json_is_not_sent(http: Http, server: ScriptedServer) -> None:
    with pytest.raises(UsageError, match="not JSON"):
        ask(http, "POST", body={"answer": float("nan")})
    assert server.requests == []


def test_numbers_that_json_does_not_have_are_read_as_null(http: Http, server: ScriptedServer) -> None:
    server.on("GET", "/x", reply(b'{"score": NaN, "cost": -Infinity}'))

    answer = http.json("GET", "/x", lambda data: data, lane=Lane.TOOLS, deadline=Deadline.after(5))
    assert answer.data == {"score": None, "cost": None}


def test_bytes_beyond_the_limit_are_refused_without_another_try(http: Http, server: ScriptedServer) -> None:
    server.on("GET", "/blob", forever=reply(b"x" * 1001))

    with pytest.raises(Unavailable, match="longer than 1000 bytes"):
        http.raw("/blob", lane=Lane.FETCH, deadline=Deadline.after(5), limit=1000)
    assert len(server.requests) == 1
    assert http.raw("/blob", lane=Lane.FETCH, deadline=Deadline.after(5), limit=1001).data == b"x" * 1001


def test_the_servers_clock_is_told(http: Http, server: ScriptedServer) -> None:
    date = {"Date": "Sat, 14 Nov 2026 09:00:00 GMT"}
    server.on(
        "GET", "/me", reply({"team": None}, headers=date), reply({"team": None}, headers={"Date": "soon"})
    )

    def now() -> float | None:
        return http.json("GET", "/me", Me.read, lane=Lane.TOOLS, deadline=Deadline.after(5)).server_now

    assert now() == 1794646800.0
    assert now() is None
