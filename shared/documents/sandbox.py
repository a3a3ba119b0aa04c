"""Parses in processes that can be stopped: a hostile file costs at most seconds and a bounded memory.

Each ``Parsers`` keeps a few children, started afresh with ``subprocess``: never forked from a process with
threads, without the parent's ``__main__``, and without its environment and the keys in it. Bytes go in, bytes
that ``codec`` reads come out; a child never sends objects. Small text files are parsed in place, which takes
linear time and no library.

pebble does not fit here: by its source, its pool breaks when an idle child dies, counts time only from the
moment a child takes a job, and hands back pickles.
"""

from __future__ import annotations

import contextlib
import os
import queue
import resource
import select
import signal
import struct
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import BinaryIO, Self

from shared.documents import codec
from shared.documents.document import Document
from shared.documents.registry import TEXT_FORMATS, format_of, load_formats, parse
from shared.errors import Unavailable, Unreadable

IN_PLACE_BYTES = 4 * 2**20
"""Text files up to this size are parsed in the calling thread."""
MAX_BYTES = 64 * 2**20
"""Files beyond this size are not parsed at all."""
RECYCLE_AFTER = 500
"""Documents that one child reads before another takes its place: libraries leak."""
START_SECONDS = 60.0
WAIT_SECONDS = 600.0

_JOB = struct.Struct("<IQd")
_ANSWER = struct.Struct("<cQ")
_DOCUMENT, _UNREADABLE = b"D", b"U"
_ROOT = str(Path(__file__).resolve().parents[2])
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from shared.documents import sandbox; sandbox.serve()"


class Parsers:
    """Parsing processes, for any number of threads.

    Args:
        processes: children at most; they start when first needed.
        seconds: that one document may take.
        memory_mb: address space of a child, libraries included (an idle child has about 140).
    """

    def __init__(self, processes: int = 1, *, seconds: float = 8.0, memory_mb: int = 1024) -> None:
        self.seconds = seconds
        self.memory_mb = memory_mb
        self.processes = processes
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._slots: queue.LifoQueue[_Child | None] = queue.LifoQueue()
        for _ in range(self.processes):
            self._slots.put(None)
        self._stop = weakref.finalize(self, _stop_all, self._slots, self._pid)

    def parse(self, data: bytes, name: str) -> Document:
        """Read a file; as ``registry.parse``, but what cannot be read comes as a document that says why.

        Raises:
            Unavailable: no child could be started, or none became free in ten minutes.
        """
        if format_of(name) in TEXT_FORMATS and len(data) <= IN_PLACE_BYTES:
            try:
                return parse(data, name)
            except Unreadable as error:
                return unreadable(name, error.reason)
        return codec.load(self.parse_stored(data, name))

    def parse_stored(self, data: bytes, name: str) -> bytes:
        """The same, always in a child, as the bytes that ``codec.load`` reads: what a cache wants to keep."""
        if len(data) > MAX_BYTES:
            return codec.dump(unreadable(name, f"{len(data)} bytes, at most {MAX_BYTES} are read"))
        if self._pid != os.getpid():
            self._stop.detach()  # the children belong to the process that this one was forked from
            self._reset()
        try:
            child = self._slots.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            raise Unavailable(f"no parser became free within {WAIT_SECONDS:g} s") from None
        try:
            if child is None or not child.usable:
                child = _replaced(child, self.memory_mb)
            return child.work(data, name, self.seconds)
        except Unreadable as error:
            return codec.dump(unreadable(name, error.reason))
        finally:
            self._slots.put(child)

    def warm(self) -> None:
        """Start the first child now; the first document is then read without delay."""
        self.parse_stored(b"", "warm.bin")

    def close(self) -> None:
        """Stop all children, those at work when they are done."""
        if self._pid != os.getpid():
            return
        for _ in range(self.processes):
            child = self._slots.get(timeout=WAIT_SECONDS)
            if child is not None:
                child.stop()
        for _ in range(self.processes):
            self._slots.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def unreadable(name: str, reason: str) -> Document:
    """The document of a file that could not be read."""
    return Document(format_of(name), unreadable=reason)


def _replaced(child: _Child | None, memory_mb: int) -> _Child:
    if child is not None:
        child.stop()
    return _Child(memory_mb)


def _stop_all(slots: queue.LifoQueue[_Child | None], pid: int) -> None:
    """Stop the children in a queue, in the process that started them."""
    if pid != os.getpid():
        return
    while True:
        try:
            child = slots.get_nowait()
        except queue.Empty:
            return
        if child is not None:
            child.stop()


class _Child:
    """One parsing process, seen from its parent."""

    def __init__(self, memory_mb: int) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-I", "-c", _BOOT, _ROOT, str(memory_mb)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._stdin, False)
        self._done = 0
        try:
            self._receive(1, time.monotonic() + START_SECONDS)
        except (_Silent, EOFError):
            self.stop()
            raise Unavailable(f"a parsing process did not start: exit {self._process.returncode}") from None

    @property
    def usable(self) -> bool:
        return self._process.poll() is None and self._done < RECYCLE_AFTER

    def work(self, data: bytes, name: str, seconds: float) -> bytes:
        """The document of these bytes, stored.

        Raises:
            Unreadable: the child said so, took too long or died; in the last two cases it is gone.
        """
        self._done += 1
        end = time.monotonic() + seconds
        encoded = name.encode("utf-8", "replace")
        try:
            self._send(_JOB.pack(len(encoded), len(data), seconds) + encoded, end)
            self._send(data, end)
            kind, length = _ANSWER.unpack(self._receive(_ANSWER.size, end))
            answer = self._receive(length, end)
        except _Silent:
            self.stop()
            raise Unreadable(f"takes longer to read than {seconds:g} s") from None
        except (EOFError, BrokenPipeError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)  # its own end says more than our kill
            self.stop()
            raise Unreadable(f"the parsing process died of it ({_cause(self._process.returncode)})") from None
        if kind == _UNREADABLE:
            raise Unreadable(answer.decode())
        return answer

    def _send(self, data: bytes, end: float) -> None:
        """All of these bytes to the child, before a moment of the monotonic clock."""
        rest = memoryview(data)
        while rest:
            _wait(self._stdin, select.POLLOUT, end)
            rest = rest[os.write(self._stdin, rest[: 2**16]) :]

    def _receive(self, length: int, end: float) -> bytes:
        """Exactly so many bytes from the child, before a moment of the monotonic clock."""
        pieces: list[bytes] = []
        while length:
            _wait(self._stdout, select.POLLIN, end)
            piece = os.read(self._stdout, min(length, 2**20))
            if not piece:
                raise EOFError
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)

    def stop(self) -> None:
        """Kill the child and wait for its end."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]
        self._process.wait()


class _Silent(Exception):
    """The child said nothing until the time was up."""


def _wait(descriptor: int, event: int, end: float) -> None:
    """Wait until a pipe is ready. Raises _Silent if it is not before ``end``."""
    poll = select.poll()
    poll.register(descriptor, event)
    left = end - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise _Silent


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit {code}"


def serve() -> None:
    """What a child does: read a job, answer, until the parent is gone. ``sys.argv``: root, memory in MB."""
    parent = os.getppid()
    _limit(int(sys.argv[2]))
    load_formats()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - what a library prints must not mix with answers
    _send(sink, b"\n")
    while _has_job(parent):
        head = source.read(_JOB.size)
        if len(head) < _JOB.size:
            return
        name_length, length, seconds = _JOB.unpack(head)
        name = source.read(name_length).decode()
        data = source.read(length)
        signal.setitimer(signal.ITIMER_REAL, seconds + 2)  # even if the parent is gone
        try:
            kind, answer = _DOCUMENT, codec.dump(parse(data, name))
        except Unreadable as error:
            kind, answer = _UNREADABLE, error.reason.encode("utf-8", "replace")
        except MemoryError:
            kind, answer = _UNREADABLE, b"needs more memory than a parser may have"
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(sink, _ANSWER.pack(kind, len(answer)) + answer)


def _has_job(parent: int) -> bool:
    """Wait for a job. False if the parent is gone and only a process that it forked holds the pipe open."""
    while not select.select([sys.stdin], [], [], 10)[0]:
        if os.getppid() != parent:
            return False
    return True


def _send(sink: BinaryIO, data: bytes) -> None:
    sink.write(data)
    sink.flush()


def _limit(memory_mb: int) -> None:
    """Bound memory, and forbid to write files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    with contextlib.suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20, memory_mb * 2**20))
