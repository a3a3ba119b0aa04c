"""docker-compose.yml: valid for compose itself, and each service's very command plays its part."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from shared.pool.pool import Pool
from shared.pool.server import find_binary
from shared.settings import Settings
from tests.support.brokers import free_port
from tests.support.command import Terminal
from tests.support.playing import wait_for
from tests.support.supervised import ROOT, clean_environment

PASSWORDS = {
    "REDIS_PASSWORD": "redis-secret",
    "FLOWER_PASSWORD": "flower-secret",
    "EMULATOR_PASSWORD": "emulator-secret",
}

READ_ONLY = ("worker", "finisher", "final", "emulator")


def composed(**variables: str) -> dict[str, Any]:
    """The file as compose reads it, all profiles on, variables filled in."""
    spec = importlib.util.find_spec("compose")
    assert spec is not None
    assert spec.origin is not None
    binary = Path(spec.origin).parent / "docker-compose"
    done = subprocess.run(
        [binary, "-f", ROOT / "docker-compose.yml", "--profile", "*", "config", "--format", "json"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    model: dict[str, Any] = json.loads(done.stdout)
    return model


def test_every_service_is_pinned_unprivileged_and_starts_again() -> None:
    services = composed(**PASSWORDS)["services"]
    assert set(services) == {"redis", "worker", "finisher", "final", "flower", "emulator", "producer"}
    for name, service in services.items():
        assert re.fullmatch(r"\S+:\d+\.\d+\.\d+\S*", service["image"]), name
        assert service["restart"] == ("no" if name == "producer" else "unless-stopped")
        assert "container_name" not in service
        for port in service.get("ports", []):
            assert port["host_ip"] == "127.0.0.1"
    assert "healthcheck" in services["redis"]
    assert not services["worker"].get("ports"), "a fixed port would forbid --scale"
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^USER (?!root)", dockerfile, re.MULTILINE)


@pytest.mark.parametrize("missing", sorted(PASSWORDS))
def test_no_service_starts_without_its_password(missing: str) -> None:
    given = {name: value for name, value in PASSWORDS.items() if name != missing}
    with pytest.raises(AssertionError, match=missing):
        composed(**given)


def test_a_service_that_keeps_files_has_a_volume_for_them() -> None:
    """All else is read-only: archive and data folder of the image are written by two services alone."""
    services = composed(**PASSWORDS)["services"]
    folders = re.findall(r"SCRIMMAGE_(?:ARCHIVE|DATA)=(\S+)", (ROOT / "Dockerfile").read_text())
    volumes = {
        name: {volume["target"] for volume in service.get("volumes", [])}
        for name, service in services.items()
    }
    assert all(service.get("read_only") for name, service in services.items() if name != "redis")
    assert volumes["producer"] == set(folders)
    assert volumes["flower"] == {"/data/pool"}
    assert {name for name, targets in volumes.items() if not targets} == set(READ_ONLY)


def test_final_runs_have_a_service_that_takes_their_tasks() -> None:
    services = composed(**PASSWORDS)["services"]
    roles = {service["command"][-1] for service in services.values() if "worker" in service["command"]}
    assert roles == {"solve", "finish", "final"}


class Services:
    """The services of the file as plain processes: their own commands, their names read as this machine.

    Args:
        folder: each service gets a working folder of its own in it.
    """

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._ports = {"6379": free_port(), "5555": free_port(), "8080": free_port()}
        variables = {
            **PASSWORDS,
            "SCRIMMAGE_ARENA_KEY": "arena_team_1",
            "SCRIMMAGE_ARENA_URL": "http://emulator:8080/api/v1",
            "SCRIMMAGE_SOLVERS": "careful=tests.support.arena_solvers:Careful",
        }
        self._services = composed(**variables)["services"]

    def environment(self, name: str) -> dict[str, str]:
        own = {key: self._here(value or "") for key, value in self._services[name]["environment"].items()}
        return {**clean_environment(), "PYTHONPATH": str(ROOT), **own}

    def port(self, container: str) -> int:
        return self._ports[container]

    def command(self, name: str) -> list[str]:
        return [self._here(part) for part in self._services[name]["command"]]

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """Start a service; it is stopped with the test."""
        folder = self._folder / name
        folder.mkdir()
        command = self.command(name)
        if command[0] == "valkey-server":
            command = [find_binary(), *command[1:], "--port", str(self._ports["6379"]), "--dir", str(folder)]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*self._program(command[0]), *command[1:]],
                cwd=folder,
                env=self.environment(name),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._stack.callback(end, process)
        return process

    def _program(self, name: str) -> list[str]:
        beside = Path(sys.executable).parent / name
        return [str(beside)] if beside.exists() else [name]

    def _here(self, text: str) -> str:
        for service, port in (("redis", "6379"), ("emulator", "8080"), ("flower", "5555")):
            text = text.replace(f"@{service}:{port}", f"@127.0.0.1:{self._ports[port]}")
            text = text.replace(f"//{service}:{port}", f"//127.0.0.1:{self._ports[port]}")
        text = re.sub(
            r"^(--port=)?(5555|8080)$", lambda found: f"{found[1] or ''}{self._ports[found[2]]}", text
        )
        return text.replace("/data/pool", str(self._folder)).replace("/data", str(self._folder))


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with ExitStack() as stack:
        yield Services(tmp_path, stack)


def test_the_services_play_a_run_together(services: Services, tmp_path: Path) -> None:
    services.start("redis")
    redis_url = services.environment("worker")["SCRIMMAGE_REDIS_URL"]
    assert "redis-secret" in redis_url
    started = [services.start(name) for name in (*READ_ONLY, "flower")]
    with Pool(Settings.load(_env_file=None, redis_url=redis_url)) as pool:
        wait_for(
            lambda: {beat.role for beat in pool.fleet.live()} == {"solve", "finish", "final"}, 60, "all beat"
        )
    terminal = Terminal(tmp_path / "person", **own_settings(services.environment("producer")))
    played = terminal.run("run", "--solver", "careful", "--json")
    assert played.code == 0, played.err
    assert played.json["runs"][0]["tasks_submitted"] == 30
    said = terminal.run(*services.command("producer")[1:])
    assert said.code == 0, said.err
    assert flower_status(services.port("5555"), None) == 401
    assert flower_status(services.port("5555"), "scrimmage:flower-secret") == 200
    assert all(process.poll() is None for process in started)
    for name in READ_ONLY:
        assert {path.name for path in (tmp_path / name).iterdir()} == {"log"}, "their root is read-only"


def own_settings(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("SCRIMMAGE_") and value}


def flower_status(port: int, user: str | None) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/workers")
    if user is not None:
        request.add_header("Authorization", "Basic " + base64.b64encode(user.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
