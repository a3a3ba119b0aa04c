"""What is said, and how soon, of servers that do not answer or cannot be used."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from producer.local import any_pool
from producer.servers import check_broker_and_cache, check_redis
from shared.errors import SettingsError, Unavailable
from shared.pool.connection import connect
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings

NOBODY = "127.0.0.1:9"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer.start(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def old() -> Iterator[str]:
    """As much of a Redis 5 as a client sees of it before it is turned away."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while line := self.rfile.readline():
                words = [self._word() for _ in range(int(line[1:]))]
                info = b"redis_version:5.0.14\r\n"
                answers = {b"INFO": b"$%d\r\n%s\r\n" % (len(info), info), b"PING": b"+PONG\r\n"}
                self.wfile.write(answers.get(words[0], b"+OK\r\n"))

        def _word(self) -> bytes:
            length = int(self.rfile.readline()[1:])
            return self.rfile.read(length + 2)[:-2]

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"redis://127.0.0.1:{listening.server_address[1]}/0"
        listening.shutdown()


def test_a_server_that_can_be_used_is_named_with_its_version(server: RedisServer) -> None:
    assert check_redis(server.url).split()[0] in {"valkey", "redis"}


def test_a_server_that_does_not_answer_is_named_within_seconds(tmp_path: Path) -> None:
    began = time.monotonic()
    settings = Settings.load(_env_file=None, redis_url=f"redis://{NOBODY}/0", data=tmp_path)
    with (
        pytest.raises(Unavailable, match=rf"Redis at {NOBODY} does not answer .*SCRIMMAGE_REDIS_URL right\?"),
        any_pool(settings, lambda _: None),
    ):
        pass
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("url", [f"amqp://{NOBODY}//", f"redis://{NOBODY}/1"])
def test_a_broker_that_does_not_answer_is_named_within_seconds(url: str, server: RedisServer) -> None:
    began = time.monotonic()
    settings = Settings.load(_env_file=None, redis_url=server.url, broker_url=url)
    with (
        Pool.connect(settings) as pool,
        pytest.raises(Unavailable, match=f"broker at {NOBODY} does not answer"),
    ):
        check_broker_and_cache(settings, pool)
    assert time.monotonic() - began < 8


def test_a_cache_that_does_not_answer_is_named(server: RedisServer) -> None:
    settings = Settings.load(_env_file=None, redis_url=server.url, cache_url=f"redis://{NOBODY}/0")
    with Pool.connect(settings) as pool, pytest.raises(Unavailable, match="SCRIMMAGE_CACHE_URL"):
        check_broker_and_cache(settings, pool)


def test_a_server_that_is_too_old_is_turned_away(old: str) -> None:
    with pytest.raises(SettingsError, match=r"has version 5\.0\.14: it must be 6\.2 or newer"):
        check_redis(old)


def test_a_server_without_scripts_or_with_another_password_is_turned_away(server: RedisServer) -> None:
    with connect(server.url) as admin:
        admin.execute_command("ACL", "SETUSER", "poor", "on", ">secret", "~*", "+@all", "-@scripting")
    port = server.port
    with pytest.raises(SettingsError, match=r"cannot be used: .*eval"):
        check_redis(f"redis://poor:secret@127.0.0.1:{port}/0")
    with pytest.raises(SettingsError, match="refuses access") as refused:
        check_redis(f"redis://poor:wrong-one@127.0.0.1:{port}/0")
    assert "wrong-one" not in str(refused.value)
    with pytest.raises(SettingsError, match="cannot be used: DB index is out of range"):
        check_redis(f"redis://127.0.0.1:{port}/99")


@pytest.mark.parametrize("url", ["127.0.0.1:6379", "http://host", "redis://host:99999/0"])
def test_what_can_be_no_redis_url_is_told_with_the_setting(url: str) -> None:
    with pytest.raises(SettingsError, match="SCRIMMAGE_REDIS_URL: "):
        check_redis(url)
