"""Sending jobs over a real broker."""

from __future__ import annotations

import base64
import gc
import json
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
import redis

from shared.errors import SettingsError, Unavailable
from shared.models import Kind, RunRef
from shared.pool.connection import connect
from shared.pool.jobs import QUEUE_FINAL, QUEUE_FINISH, QUEUE_SOLVE, Jobs
from shared.pool.pool import Pool
from shared.pool.server import RedisServer, find_binary
from shared.settings import Settings
from tests.support.brokers import free_port
from tests.support.playing import wait_for

REF = RunRef(platform="arena", run_id="run_x")


def message(client: redis.Redis, queue: str) -> dict[str, object]:
    return dict(json.loads(client.lrange(queue, 0, 0)[0]))


def test_each_job_goes_to_its_queue(pool: Pool) -> None:
    assert [pool.jobs.waiting(queue) for queue in (QUEUE_SOLVE, QUEUE_FINAL, QUEUE_FINISH)] == [0, 0, 0]
    pool.jobs.solve(REF, "t01", "baseline", Kind.DEV)
    pool.jobs.solve(REF, "t02", "baseline", Kind.DEV)
    pool.jobs.solve(REF, "t01", "baseline", Kind.FINAL)
    pool.jobs.finish(REF, Kind.FINAL)
    assert [pool.jobs.waiting(queue) for queue in (QUEUE_SOLVE, QUEUE_FINAL, QUEUE_FINISH)] == [2, 1, 1]


def test_to_look_at_queues_again_and_again_opens_one_connection_and_leaves_no_garbage(
    pool: Pool, redis_client: redis.Redis
) -> None:
    pool.jobs.waiting(QUEUE_SOLVE)
    gc.collect()
    opened = redis_client.info("stats")["total_connections_received"]
    for _ in range(10):
        assert (pool.jobs.waiting(QUEUE_SOLVE), pool.jobs.waiting(QUEUE_FINISH)) == (0, 0)
    assert redis_client.info("stats")["total_connections_received"] == opened
    assert gc.collect() < 20


def test_to_close_closes_every_connection_and_no_other_s(
    pool: Pool, redis_url: str, redis_client: redis.Redis
) -> None:
    pool.jobs.solve(REF, "t01", "baseline", Kind.DEV)

    def connections() -> int:
        return int(redis_client.info("clients")["connected_clients"])

    before = connections()
    jobs = Jobs(Settings.load(_env_file=None, redis_url=redis_url))
    jobs.solve(REF, "t02", "baseline", Kind.DEV)
    jobs.finish(REF, Kind.DEV)
    assert jobs.waiting(QUEUE_SOLVE) == 2
    assert connections() > before
    jobs.close()
    wait_for(lambda: connections() == before, 5, "the connections are closed")
    assert pool.jobs.waiting(QUEUE_SOLVE) == 2


def test_a_message_carries_ids_and_shows_them_readably(pool: Pool, redis_client: redis.Redis) -> None:
    pool.jobs.solve(REF, "t03", "baseline", Kind.DEV)
    sent = message(redis_client, QUEUE_SOLVE)
    headers = sent["headers"]
    assert isinstance(headers, dict)
    assert headers["task"] == "scrimmage.solve"
    assert headers["argsrepr"] == "arena run_x t03 baseline"
    assert sent["content-type"] == "application/json"
    args, kwargs, _ = json.loads(base64.b64decode(str(sent["body"])))
    assert args == []
    assert kwargs == {"platform": "arena", "run_id": "run_x", "task_id": "t03", "solver": "baseline"}


def test_a_broker_that_is_away_is_unavailable_within_seconds(tmp_path: Path) -> None:
    server = RedisServer.start(tmp_path)
    jobs = Jobs(Settings.load(_env_file=None, redis_url=server.url.replace("//", "//:secret@")))
    server.stop()
    for call in (
        lambda: jobs.solve(REF, "t01", "baseline", Kind.DEV),
        lambda: jobs.waiting(QUEUE_SOLVE),
        jobs.ping,
    ):
        began = time.monotonic()
        with pytest.raises(Unavailable, match=f"broker at 127.0.0.1:{server.port}") as caught:
            call()
        assert time.monotonic() - began < 8
        assert "secret" not in str(caught.value)
    jobs.close()


def test_a_broker_that_refuses_access_is_a_matter_of_settings(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path) as server, connect(server.url) as client:
        client.config_set("requirepass", "right")
        jobs = Jobs(Settings.load(_env_file=None, redis_url=server.url.replace("//", "//:wrong-one@")))
        for call in (lambda: jobs.solve(REF, "t01", "baseline", Kind.DEV), jobs.ping):
            with pytest.raises(SettingsError, match=f"broker at 127.0.0.1:{server.port}") as caught:
                call()
            assert "wrong-one" not in str(caught.value)
        jobs.close()


def test_a_broker_that_accepts_and_is_silent_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.pool.jobs._ANSWER_SECONDS", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        jobs = Jobs(Settings.load(_env_file=None, redis_url=f"redis://127.0.0.1:{silent.getsockname()[1]}/0"))
        began = time.monotonic()
        with pytest.raises(Unavailable):
            jobs.ping()
        assert time.monotonic() - began < 5
        jobs.close()


def test_sending_goes_on_after_the_broker_restarted(tmp_path: Path) -> None:
    server = RedisServer.start(tmp_path)
    jobs = Jobs(Settings.load(_env_file=None, redis_url=server.url))
    jobs.solve(REF, "t01", "baseline", Kind.DEV)
    assert jobs.waiting(QUEUE_SOLVE) == 1
    server.stop()
    with RedisServer.start(tmp_path, port=server.port):
        jobs.solve(REF, "t02", "baseline", Kind.DEV)
        assert jobs.waiting(QUEUE_SOLVE) == 2
        jobs.ping()
        jobs.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_sends_over_connections_of_its_own(pool: Pool) -> None:
    pool.jobs.solve(REF, "t01", "baseline", Kind.DEV)
    parents = pool.jobs._sender()
    child = os.fork()
    if child == 0:
        try:
            pool.jobs.solve(REF, "t02", "baseline", Kind.DEV)
            assert pool.jobs._sender() is not parents
        except BaseException:  # the child must end here whatever happens
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    pool.jobs.solve(REF, "t03", "baseline", Kind.DEV)
    assert pool.jobs.waiting(QUEUE_SOLVE) == 3


def test_jobs_go_to_the_master_that_a_sentinel_names(redis_server: RedisServer, tmp_path: Path) -> None:
    port = free_port()
    sentinel = tmp_path / "sentinel.conf"
    sentinel.write_text(f"port {port}\nsentinel monitor themaster 127.0.0.1 {redis_server.port} 1\n")
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([find_binary(), sentinel, "--sentinel"], stdout=log, stderr=log)
    url = f"sentinel://127.0.0.1:{port}/5?master_name=themaster"
    jobs = Jobs(Settings.load(_env_file=None, redis_url=redis_server.url, broker_url=url))
    try:
        with connect(f"redis://127.0.0.1:{port}/0") as client:
            wait_for(lambda: _answers(client), 10, "the sentinel answers")
        jobs.solve(REF, "t01", "baseline", Kind.DEV)
        assert jobs.waiting(QUEUE_SOLVE) == 1
        with connect(redis_server.url.replace("/0", "/5")) as client:
            assert message(client, QUEUE_SOLVE)["content-type"] == "application/json"
            client.flushdb()
    finally:
        jobs.close()
        process.terminate()
        process.wait(10)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
