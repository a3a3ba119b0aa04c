"""Machines on networks of their own, whose cables can be pulled: packets vanish, and nobody is told.

A machine lives in a network namespace (``ip netns``). One virtual cable leads from it to the address of
Redis, another to the address of platform and model; both addresses are this machine's own, and the same for
every machine. A pulled cable loses packets: no reset, no refusal, no end of a connection, as when a switch
dies.
Linux, iproute2 and the right to make namespaces are needed; ``why_not`` tells what is missing.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Self

_NAME, _LABEL = "chaos-", "lo:c"
"""Namespaces and addresses carry the pid of their maker; so does a route, as its metric."""

_NETWORK = "10.213"
"""Private, and hardly used; each cable takes four addresses of it, drawn at random."""


@cache
def why_not() -> str | None:
    """What fails where a machine can have no network of its own; None where it can."""
    try:
        with Address() as server, Network() as network:
            network.cable(server.text)
    except NetworkError as error:
        return str(error)
    return None


class NetworkError(Exception):
    """A command that makes networks failed; the message holds the command and what it said."""


class Address:
    """An address of this machine's own, reachable through every cable that leads to it."""

    def __init__(self) -> None:
        self.text = f"{_NETWORK}.{secrets.randbelow(64)}.{1 + secrets.randbelow(254)}"
        _ip("address", "add", f"{self.text}/32", "dev", "lo", "label", f"{_LABEL}{os.getpid()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _ip("address", "delete", f"{self.text}/32", "dev", "lo")


class Network:
    """The network of one machine: a namespace, and the cables that lead out of it."""

    def __init__(self) -> None:
        _tidy()
        self.name = f"{_NAME}{os.getpid()}-{secrets.token_hex(3)}"
        _ip("netns", "add", self.name)
        self._ends = ExitStack()
        self._ends.callback(_ip, "netns", "delete", self.name)
        self.inside("link", "set", "lo", "up")

    def inside(self, *words: str) -> None:
        """Run ``ip`` inside of it."""
        _ip("-netns", self.name, *words)

    def cable(self, to: str) -> Cable:
        """Lay a cable to an address of this machine; it goes with the network."""
        cable = Cable(self, to)
        self._ends.callback(cable.remove)
        return cable

    @property
    def command(self) -> tuple[str, ...]:
        """What comes before a command that shall run inside."""
        return ("ip", "netns", "exec", self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()


class Cable:
    """One cable from a machine's network to an address of this machine."""

    def __init__(self, network: Network, to: str) -> None:
        self._outer = f"ch{secrets.token_hex(4)}"
        third, fourth = 64 + secrets.randbelow(192), 4 * secrets.randbelow(64)
        self._nowhere = ("blackhole", f"{_NETWORK}.{third}.{fourth}/30", "metric", f"{os.getpid()}")
        near, far = (f"{_NETWORK}.{third}.{fourth + end}" for end in (1, 2))
        inner = f"{self._outer}i"
        _ip("link", "add", self._outer, "type", "veth", "peer", "name", inner, "netns", network.name)
        try:
            _ip("address", "add", f"{near}/30", "dev", self._outer)
            _ip("link", "set", self._outer, "up")
            network.inside("address", "add", f"{far}/30", "dev", inner)
            network.inside("link", "set", inner, "up")
            network.inside("route", "add", f"{to}/32", "via", near)
            # What is sent while the cable is out must not leave by another way.
            _ip("route", "add", *self._nowhere)
        except NetworkError:
            _ip("link", "delete", self._outer)
            raise

    def cut(self) -> None:
        """Pull it."""
        _ip("link", "set", self._outer, "down")

    def mend(self) -> None:
        """Plug it in again."""
        _ip("link", "set", self._outer, "up")

    def remove(self) -> None:
        _ip("route", "delete", *self._nowhere)
        _ip("link", "delete", self._outer)


def _ip(*words: str) -> str:
    binary = shutil.which("ip")
    if binary is None:
        raise NetworkError("no command `ip`: install iproute2")
    done = subprocess.run([binary, *words], capture_output=True, text=True, check=False, timeout=20)
    if done.returncode:
        raise NetworkError(f"`ip {' '.join(words)}` failed: {done.stderr.strip()}")
    return done.stdout


def _tidy() -> None:
    """Remove what scenarios left that were killed; a namespace's cables go along."""
    for name, pid in re.findall(rf"^({_NAME}(\d+)-\w+)", _ip("netns", "list"), re.MULTILINE):
        if _is_gone(pid):
            _ip("netns", "delete", name)
    for text, pid in re.findall(rf"inet (\S+) .*{_LABEL}(\d+)", _ip("address", "show", "dev", "lo")):
        if _is_gone(pid):
            _ip("address", "delete", text, "dev", "lo")
    nowhere = rf"blackhole ({_NETWORK}\.\S+) metric (\d+)"
    for subnet, pid in re.findall(nowhere, _ip("route", "show", "type", "blackhole")):
        if _is_gone(pid):
            _ip("route", "delete", "blackhole", subnet, "metric", pid)


def _is_gone(pid: str) -> bool:
    return not Path(f"/proc/{pid}").exists()
