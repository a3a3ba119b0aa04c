"""Whether anybody listens: told within seconds, and without a request."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from urllib.request import getproxies

import pytest

from shared.errors import Unavailable
from shared.platforms.reach import reach
from tests.support.scripted import ScriptedServer

URL = "SCRIMMAGE_ARENA_URL"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in getproxies():
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name.upper()}_PROXY", raising=False)


@pytest.fixture
def closed() -> Iterator[socket.socket]:
    """A port of our own on which nobody listens yet."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        yield server


def url_of(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}/api/v1"


def test_a_server_that_listens_gets_a_connection_and_no_request(server: ScriptedServer) -> None:
    said: list[str] = []

    reach(server.url, URL, said.append)

    assert said == []
    assert server.requests == []


def test_a_port_that_is_closed_is_told_with_the_setting_after_a_visible_wait(closed: socket.socket) -> None:
    said: list[str] = []
    began = time.monotonic()

    with pytest.raises(Unavailable, match=r"does not answer \(Connection refused\): is SCRIMMAGE_ARENA_URL"):
        reach(url_of(closed), URL, said.append, patience=1.5)

    assert 1.4 < time.monotonic() - began < 5
    (line,) = said
    assert url_of(closed) in line
    assert "trying again until" in line


def test_a_server_that_starts_meanwhile_is_waited_for(closed: socket.socket) -> None:
    said: list[str] = []

    def start(line: str) -> None:
        said.append(line)
        closed.listen()

    reach(url_of(closed), URL, start, patience=30)
    assert len(said) == 1


def test_a_host_that_nobody_knows_is_told_at_once() -> None:
    said: list[str] = []

    with pytest.raises(Unavailable, match=r"the host nosuch\.invalid is not known here.*SCRIMMAGE_ARENA_URL"):
        reach("https://nosuch.invalid/api/v1", URL, said.append, patience=30)


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "b..example"])
def test_what_can_be_no_host_is_told(host: str) -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        reach(f"https://{host}/api/v1", URL, lambda _: None, patience=0.2)


def test_what_a_proxy_leads_to_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")

    reach("https://nosuch.invalid/api/v1", URL, lambda _: None, patience=0.2)
