"""Where requests go, what they carry, and what a process keeps open for them."""

from __future__ import annotations

import os
import ssl
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import redis

from shared.deadline import Deadline
from shared.errors import ScrimmageError, SettingsError, Unavailable, UsageError
from shared.models import RunRef
from shared.platforms.http import Http, segment
from shared.pool import keys
from shared.pool.bucket import Lane
from tests.integration.shared.platforms.conftest import KEY, MakeHttp, RecordingBucket
from tests.support.scripted import Connection, ScriptedServer, html, reply

CERTIFICATE = Path(__file__).with_name("selfsigned.pem")


def get(http: Http, path: str = "/me", method: str = "GET", body: object = None) -> object:
    return http.json(
        method,
        path,
        lambda data: data,
        lane=Lane.TOOLS,
        deadline=Deadline.after(20),
        body=body,  # type: ignore[arg-type]
    ).data


def test_the_key_goes_along_with_every_request(http: Http, server: ScriptedServer) -> None:
    server.on("POST", "/runs", reply({"run_id": "run_1"}))

    assert get(http, "/runs", "POST", {"kind": "dev"}) == {"run_id": "run_1"}
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.json() == {"kind": "dev"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_host_gets_no_request_and_no_key(
    http: Http, server: ScriptedServer, status: int, method: str
) -> None:
    with ScriptedServer() as thief:
        server.on(method, "/me", reply({}, status=status, headers={"Location": f"{thief.url}/me"}))

        with pytest.raises(Unavailable, match="which gets no request"):
            get(http, method=method)
        assert thief.requests == []


@pytest.mark.parametrize(
    "location",
    ["//localhost/me", "https://127.0.0.1/me", "http://127.0.0.1@evil.example/", "http://[broken", ""],
)
def test_a_redirect_that_leaves_the_origin_is_refused(
    http: Http, server: ScriptedServer, location: str
) -> None:
    server.on("GET", "/me", forever=reply({}, status=302, headers={"Location": location}))

    with pytest.raises(ScrimmageError, match="redirected"):
        get(http)


def test_a_redirect_within_the_origin_is_followed(http: Http, server: ScriptedServer) -> None:
    server.on("GET", "/items", reply({}, status=301, headers={"Location": "/items/"}))
    server.on("GET", "/items/", reply([1]))
    server.on("POST", "/items", reply({}, status=307, headers={"Location": f"{server.url}/items/"}))
    server.on("POST", "/items/", reply([2]))

    assert get(http, "/items") == [1]
    assert get(http, "/items", "POST", {"a": 1}) == [2]
    assert server.seen("POST", "/items/")[0].json() == {"a": 1}


def test_a_redirect_that_would_drop_the_body_is_refused(http: Http, server: ScriptedServer) -> None:
    server.on("POST", "/items", reply({}, status=302, headers={"Location": "/items/"}))

    with pytest.raises(Unavailable, match="drop its body"):
        get(http, "/items", "POST", {"a": 1})


def test_redirects_in_circles_end(http: Http, server: ScriptedServer) -> None:
    server.on("GET", "/me", forever=reply({}, status=302, headers={"Location": "/me"}))

    with pytest.raises(Unavailable, match="circles"):
        get(http)


@pytest.mark.parametrize("name", ["..", ".", ""])
def test_a_name_that_leads_elsewhere_is_no_part_of_a_path(name: str) -> None:
    with pytest.raises(UsageError, match="part of a URL"):
        segment(name)


def test_names_cannot_break_out_of_their_place_in_the_path(http: Http, server: ScriptedServer) -> None:
    server.on("GET", "*", forever=reply({}))

    get(http, f"/tools/{segment('../submit?x=1#y')}")
    assert server.requests[0].path == "/tools/..%2Fsubmit%3Fx%3D1%23y"


@pytest.mark.parametrize(
    "answer",
    [
        reply({"error": f"the key {KEY} is revoked"}, status=401),
        reply({"error": f"Authorization: Bearer {KEY}"}, status=400),
        reply({}, status=302, headers={"Location": f"http://{KEY}.example/"}),
        reply({"error": f"{KEY}"}, status=500),
        html(502, x_key=KEY),
    ],
)
def test_the_key_is_in_no_error(http: Http, server: ScriptedServer, answer: object) -> None:
    server.on("GET", "/me", forever=answer)  # type: ignore[arg-type]

    with pytest.raises(ScrimmageError) as caught:
        get(http)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in repr(http)


@pytest.mark.parametrize("key", ["arena_geheim\n", "arena_schlüssel", "arena_\x00null"])
def test_a_key_that_no_header_can_carry_is_a_wrong_setting(
    make_http: MakeHttp, server: ScriptedServer, key: str
) -> None:
    with pytest.raises(SettingsError, match="no HTTP header") as caught:
        get(make_http(server.url, key=key))
    assert "arena_" not in str(caught.value)
    assert server.requests == []


def test_a_proxy_setting_does_not_catch_the_loopback(
    make_http: MakeHttp, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server.on("GET", "/me", reply({"a": 1}))

    assert get(make_http(server.url)) == {"a": 1}


def test_a_certificate_that_nobody_vouches_for_is_refused(make_http: MakeHttp, waits: list[float]) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            raise AssertionError("a request came through")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
        listening.timeout = 5
        thread = threading.Thread(target=listening.handle_request)
        thread.start()
        with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
            get(make_http(f"https://127.0.0.1:{listening.server_port}"))
        thread.join()
    assert waits == [], "another try would not change the certificate"


def test_as_many_requests_run_at_once_as_there_are_threads(
    make_http: MakeHttp, server: ScriptedServer
) -> None:
    together = threading.Barrier(40)

    def meet(connection: Connection) -> bool:
        together.wait(20)
        return reply({})(connection)

    server.on("GET", "/me", forever=meet)
    http = make_http(server.url)
    with ThreadPoolExecutor(40) as threads:
        for answer in [threads.submit(get, http) for _ in range(40)]:
            assert answer.result() == {}


def test_a_process_keeps_its_connection_and_shares_none_with_a_fork(
    http: Http, server: ScriptedServer
) -> None:
    server.on("GET", "*", forever=reply({}))
    get(http, "/parent")
    child = os.fork()
    if child == 0:
        try:
            get(http, "/child")
            get(http, "/child")
            http.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    get(http, "/parent")

    parent = {request.peer for request in server.seen(path="/parent")}
    forked = {request.peer for request in server.seen(path="/child")}
    assert len(server.seen(path="/child")) == 2
    assert len(parent) == len(forked) == 1
    assert parent != forked


def test_after_closing_a_new_connection_is_opened(http: Http, server: ScriptedServer) -> None:
    server.on("GET", "/me", forever=reply({}))

    get(http)
    http.close()
    get(http)
    assert len({request.peer for request in server.requests}) == 2


def test_every_request_takes_a_token_retries_too(
    http: Http, server: ScriptedServer, bucket: RecordingBucket
) -> None:
    server.on("GET", "/me", html(503), html(503), reply({}))
    before = bucket.state().granted

    get(http)
    assert bucket.state().granted - before == 3


def test_requests_are_counted_for_their_run(
    http: Http, server: ScriptedServer, redis_client: redis.Redis
) -> None:
    ref = RunRef(platform="arena", run_id="run_1")
    server.on("GET", "/me", html(503), reply({}))
    run = keys.run(ref)
    redis_client.hset(run, "status", "solving")

    http.json("GET", "/me", lambda data: data, lane=Lane.TOOLS, deadline=Deadline.after(20), run=ref)
    assert redis_client.hget(run, "requests") == "2"
