"""Redis servers as operators run them, for tests: behind a password, or behind TLS."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import redis

from shared.pool.connection import connect
from shared.pool.server import find_binary
from tests.support.playing import wait_for


@dataclass(frozen=True)
class Certificates:
    """An authority of the test's own, and a server's certificate for 127.0.0.1 that it signed."""

    authority: Path
    server: Path
    server_key: Path

    @classmethod
    def make(cls, folder: Path) -> Certificates:
        """Make them with ``openssl``; good for a day."""
        folder.mkdir(parents=True, exist_ok=True)
        ca, ca_key = folder / "ca.pem", folder / "ca.key"
        cert, key, request, names = (folder / f"server.{end}" for end in ("pem", "key", "csr", "ext"))
        names.write_text("subjectAltName=IP:127.0.0.1\n")
        new = ["-newkey", "rsa:2048", "-nodes"]
        _openssl("req", "-x509", *new, "-keyout", ca_key, "-out", ca, "-days", "1", "-subj", "/CN=test")
        _openssl("req", *new, "-keyout", key, "-out", request, "-subj", "/CN=127.0.0.1")
        signed = ["-in", request, "-CA", ca, "-CAkey", ca_key, "-out", cert, "-days", "1"]
        _openssl("x509", "-req", *signed, "-CAcreateserial", "-extfile", names)
        return cls(ca, cert, key)


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=30)


@contextmanager
def redis_behind_password(folder: Path, password: str) -> Iterator[str]:
    """A server that keeps every write in its append-only file; gives its URL with the password."""
    port = free_port()
    options = ["--port", str(port), "--requirepass", password, "--appendonly", "yes"]
    with _running([find_binary(), *options], folder, f"redis://:{password}@127.0.0.1:{port}/0") as url:
        yield url


@contextmanager
def redis_behind_tls(folder: Path, certificates: Certificates, password: str) -> Iterator[str]:
    """Debian's ``redis-server`` with TLS alone; gives a URL that does not say who vouches for it."""
    binary = shutil.which("redis-server")
    assert binary is not None, "apt-get install redis-server"
    port = free_port()
    options = ["--port", "0", "--tls-port", str(port), "--requirepass", password]
    options += ["--tls-cert-file", str(certificates.server), "--tls-key-file", str(certificates.server_key)]
    options += ["--tls-ca-cert-file", str(certificates.authority), "--tls-auth-clients", "no"]
    url = f"rediss://:{password}@127.0.0.1:{port}/0"
    trusted = f"{url}?ssl_ca_certs={certificates.authority}"
    with _running([binary, *options], folder, trusted):
        yield url


@contextmanager
def _running(command: Sequence[str], folder: Path, url: str) -> Iterator[str]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "redis.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--bind", "127.0.0.1", "--save", ""],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(lambda: _answers(url), 20, "Redis answers")
        yield url
    finally:
        process.terminate()
        process.wait(20)


def _answers(url: str) -> bool:
    with connect(url) as client, suppress(redis.ConnectionError, redis.TimeoutError):
        return bool(client.ping())
    return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
