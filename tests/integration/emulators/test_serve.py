"""Emulators as child processes: they start, say where they are, and end with their parent."""

import socket
import subprocess
import sys
import textwrap

import httpx
import psutil
import pytest

from emulators.serve import ArenaEmulator
from shared.errors import SettingsError, UsageError


def test_a_child_serves_until_it_is_stopped():
    with ArenaEmulator.start(teams=2, password="open sesame") as arena:
        assert len(arena.keys) == 2
        answer = httpx.get(f"{arena.url}/me", headers={"authorization": f"Bearer {arena.keys[1]}"})
        assert answer.json()["team"]["id"] == "team-2"
        arena.control("clock", advance=3600)
        books = arena.books()
        assert books["accounts"]["team-2"]["requests"] == 1
        assert books["seconds"] >= 3600
        assert httpx.get(arena.url.replace("api/v1", "_emulator/books")).status_code == 401
        child = psutil.Process(arena.pid)
    assert not child.is_running()
    arena.stop()


def test_a_child_dies_with_its_parent():
    script = """
        import os, signal, sys
        from emulators.serve import ArenaEmulator
        arena = ArenaEmulator.start()
        print(arena.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    parent = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60
    )
    pid = int(parent.stdout)
    if psutil.pid_exists(pid):
        _, alive = psutil.wait_procs([psutil.Process(pid)], timeout=20)
        assert not alive


def test_a_taken_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1:{port}.*--port"):
            ArenaEmulator.start(port=port)


def test_a_wrong_file_of_faults_is_named(tmp_path):
    faults = tmp_path / "faults.toml"
    faults.write_text('[[rules]]\nendpoint = "GET /me"\nfault = "melt"\n')
    with pytest.raises(SettingsError, match=r"rule 1 \(GET /me\)"):
        ArenaEmulator.start(faults=faults)


def test_a_wrong_option_is_named():
    with pytest.raises(UsageError, match=r"host.*password"):
        ArenaEmulator.start(host="0.0.0.0")
