"""Debian's RabbitMQ as a node of the test's own: its folder, ports and user; gone with the test."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from kombu import Connection

from tests.support.brokers import Certificates, free_port
from tests.support.playing import wait_for

BINARIES = Path("/usr/lib/rabbitmq/bin")
USER, PASSWORD = "scrimmage", "MARKEDrabbit0001"


class RabbitMQ:
    """One node.

    Args:
        folder: for its data, logs and settings; what is durable survives ``restart``.
        certificates: listen with TLS as well; ``tls_url`` leads there and does not say who vouches for it.
    """

    def __init__(self, folder: Path, certificates: Certificates | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._port = free_port()
        self.url = f"amqp://{USER}:{PASSWORD}@127.0.0.1:{self._port}//"
        settings = [
            f"listeners.tcp.1 = 127.0.0.1:{self._port}",
            f"default_user = {USER}",
            f"default_pass = {PASSWORD}",
        ]
        tls_port = free_port()
        self.tls_url = f"amqps://{USER}:{PASSWORD}@127.0.0.1:{tls_port}//"
        if certificates is not None:
            settings += [
                f"listeners.ssl.1 = 127.0.0.1:{tls_port}",
                f"listeners.ssl.2 = 127.0.0.2:{tls_port}",
                f"ssl_options.cacertfile = {certificates.authority}",
                f"ssl_options.certfile = {certificates.server}",
                f"ssl_options.keyfile = {certificates.server_key}",
            ]
        (folder / "rabbitmq.conf").write_text("\n".join(settings) + "\n")
        (folder / "plugins").write_text("[].\n")
        self._environment = {
            **os.environ,
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(free_port()),
            "RABBITMQ_NODENAME": f"test-{self._port}@localhost",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_BASE": str(folder),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
        }
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextmanager
    def start(cls, folder: Path, certificates: Certificates | None = None) -> Iterator[Self]:
        assert (BINARIES / "rabbitmq-server").exists(), "apt-get install rabbitmq-server"
        node = cls(folder, certificates)
        try:
            node._launch()
            yield node
        finally:
            node._stop()
            subprocess.run(["epmd", "-kill"], env=node._environment, check=False, capture_output=True)

    def restart(self) -> None:
        """Stop it in an orderly way and start it on the same data."""
        self._stop()
        self._launch()

    def log(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self._folder.glob("log/*.log")))

    def _launch(self) -> None:
        with (self._folder / "said").open("ab") as said:
            self._process = subprocess.Popen(
                [BINARIES / "rabbitmq-server"],
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        wait_for(self._answers, 60, "RabbitMQ answers")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "said").read_text()
        try:
            with Connection(self.url, connect_timeout=2) as connection:
                connection.connect()
            return True
        except (OSError, *Connection(self.url).connection_errors):
            return False

    def _stop(self) -> None:
        if self._process is None:
            return
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None
