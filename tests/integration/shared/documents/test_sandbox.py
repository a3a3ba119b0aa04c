"""Hostile and huge files in real parsing processes: refused with a reason, in time, and without harm."""

from __future__ import annotations

import io
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from shared.documents.document import Document
from shared.documents.sandbox import Parsers

GOLDEN = Path(__file__).parents[3] / "golden"
LOL = "<!DOCTYPE x [<!ENTITY a 'lol'>" + "".join(
    f"<!ENTITY {chr(98 + n)} '{('&' + chr(97 + n) + ';') * 10}'>" for n in range(9)
) + "]>"  # fmt: skip
ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
)
CELL = '<table:table-cell office:value-type="string"><text:p>x</text:p></table:table-cell>'


@pytest.fixture(scope="module")
def parsers() -> Iterator[Parsers]:
    with Parsers() as parsers:
        parsers.warm()
        yield parsers


def zipped(**members: str | bytes) -> bytes:
    """A zip; ``__`` in a member's name stands for ``/``."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return target.getvalue()


def ods(rows: str) -> bytes:
    body = f'<office:body><office:spreadsheet><table:table table:name="S">{rows}</table:table>'
    return zipped(
        **{
            "content.xml": f"<office:document-content {ODF}>{body}"
            "</office:spreadsheet></office:body></office:document-content>"
        }
    )


def pdf(*objects: bytes) -> bytes:
    numbered = b"".join(b"%d 0 obj%sendobj\n" % (n, body) for n, body in enumerate(objects, 1))
    return b"%PDF-1.4\n" + numbered + b"trailer<</Root 1 0 R/Size 9>>\n"


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def pages(count: int) -> bytes:
    kids = b" ".join(b"3 0 R" for _ in range(count))
    return pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, kids),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
    )


HOSTILE = {
    "zip-bomb.xlsx": (lambda: zipped(**{"xl__workbook.xml": b" " * 30 * 2**20}), "zip bomb"),
    "many-members.docx": (lambda: zipped(**{f"m{n}": b"" for n in range(10_001)}), "zip bomb"),
    "entities.xlsx": (lambda: zipped(**{"xl__workbook.xml": f"{LOL}<x>&j;</x>"}), "entity bomb"),
    "entities.ods": (lambda: zipped(**{"content.xml": f"{LOL}<x {ODF}>&j;</x>"}), "entity bomb"),
    "one-entity.odt": (
        lambda: zipped(**{"content.xml": "<!DOCTYPE x [<!ENTITY a 'b'>]><x/>"}),
        "entity bomb",
    ),
    "million-rows.ods": (lambda: ods(f"<table:table-row>{CELL}</table:table-row>" * 2**20), "zip bomb"),
    "million-cells.ods": (
        lambda: ods(
            '<table:table-row table:number-rows-repeated="1048576"><table:table-cell office:value="1" '
            'table:number-columns-repeated="16384" office:value-type="float"/></table:table-row>'
        ),
        "more than 1000000 cells",
    ),
    "10000-pages.pdf": (lambda: pages(10_000), "10000 pages"),
    "looping-pages.pdf": (
        lambda: pdf(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R]/Count 1>>"),
        "damaged",
    ),
    "huge.png": (lambda: png(100_000, 100_000), "huge picture"),
    "large.png": (lambda: png(12_000, 9_000), "huge picture"),
    "truncated.docx": (lambda: (GOLDEN / "hand.docx").read_bytes()[:2000], "truncated"),
    "password.xlsx": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "encrypted"),
    "other-extension.xlsx": (lambda: (GOLDEN / "hand.docx").read_bytes(), "another kind of file"),
    "other-extension.odt": (lambda: (GOLDEN / "ledger.ods").read_bytes(), "another kind of file"),
    "other-extension.png": (lambda: (GOLDEN / "form.pdf").read_bytes(), "not a PNG or JPEG"),
    "huge.bin": (lambda: bytes(65 * 2**20), "bytes, at most"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_unreadable_with_a_reason_in_time(parsers: Parsers, name: str) -> None:
    make, reason = HOSTILE[name]
    data = make()
    started = time.monotonic()

    document = parsers.parse(data, name)

    assert document.unreadable is not None
    assert reason in document.unreadable
    assert not document.blocks
    assert time.monotonic() - started < 10


def test_a_row_repeated_a_million_times_is_read_in_part_and_said_so(parsers: Parsers) -> None:
    data = ods(f'<table:table-row table:number-rows-repeated="1048576">{CELL}</table:table-row>')

    document = parsers.parse(data, "repeated.ods")

    assert document.facts["problems"] == ["sheet S: row 1 is repeated 1048576 times, 10000 of them were read"]
    assert document.blocks[9_999].locator.row == 10_000


def test_a_form_that_draws_itself_ends(parsers: Parsers) -> None:
    looping = pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>",
        b"<</Length 5>>stream\n/X Do\nendstream ",
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R>>>>/Length 5>>stream\n"
        b"/X Do\nendstream ",
    )

    assert parsers.parse(looping, "loop.pdf").unreadable is None


def slow_ods() -> bytes:
    """A workbook within the bounds of size that takes a second or so to read, and some hundred megabytes."""
    return ods(f"<table:table-row>{CELL * 5}</table:table-row>" * 40_000)


def test_a_document_that_takes_too_long_is_stopped_and_the_next_one_is_read() -> None:
    with Parsers(seconds=0.2) as parsers:
        parsers.warm()
        started = time.monotonic()

        slow = parsers.parse(slow_ods(), "slow.ods")

        assert slow.unreadable == "takes longer to read than 0.2 s"
        assert time.monotonic() - started < 5
        parsers.seconds = 8
        assert read(parsers).unreadable is None


def test_a_document_that_needs_too_much_memory_is_refused() -> None:
    with Parsers(memory_mb=200) as parsers:
        document = parsers.parse(slow_ods(), "large.ods")

        assert document.unreadable is not None
        assert "memory" in document.unreadable or "died" in document.unreadable
        assert read(parsers).unreadable is None


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "sandbox" in " ".join(child.cmdline())]


def read(parsers: Parsers) -> Document:
    return parsers.parse((GOLDEN / "hand.docx").read_bytes(), "hand.docx")


def test_a_child_that_was_killed_while_idle_is_replaced() -> None:
    with Parsers() as parsers:
        before = {child.pid for child in children()}
        parsers.warm()
        (child,) = [child for child in children() if child.pid not in before]
        child.send_signal(signal.SIGKILL)
        child.wait(5)

        assert read(parsers).unreadable is None


def test_a_child_that_dies_of_a_document_makes_it_unreadable() -> None:
    with Parsers() as parsers:
        before = {child.pid for child in children()}
        parsers.warm()
        (child,) = [child for child in children() if child.pid not in before]
        child.suspend()  # so that it surely is at work when it is killed
        result: list[Document] = []
        reader = threading.Thread(target=lambda: result.append(read(parsers)))
        reader.start()
        child.send_signal(signal.SIGKILL)
        reader.join(10)

        assert result[0].unreadable is None or "SIGKILL" in result[0].unreadable
        assert read(parsers).unreadable is None


def test_many_threads_share_few_children() -> None:
    with Parsers(processes=2) as parsers:
        before = len(children())
        results: list[Document] = []
        threads = [threading.Thread(target=lambda: results.append(read(parsers))) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

        assert [document.unreadable for document in results] == [None] * 12
        assert len(children()) - before <= 2


def test_closing_stops_the_children() -> None:
    before = {child.pid for child in children()}
    with Parsers() as parsers:
        parsers.warm()

    assert {child.pid for child in children()} == before


def test_children_end_with_their_parent_however_it_ends() -> None:
    script = (
        "import os, signal, psutil; from shared.documents.sandbox import Parsers\n"
        "parsers = Parsers(); parsers.warm()\n"
        "print(*[child.pid for child in psutil.Process().children()], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    pid = int(result.stdout)

    if psutil.pid_exists(pid):
        psutil.Process(pid).wait(10)

    assert not psutil.pid_exists(pid)


def test_a_child_sees_neither_the_parent_s_environment_nor_can_it_write_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SCRIMMAGE_ARENA_KEY", "arena_secret")
    with Parsers() as parsers:
        before = {child.pid for child in children()}
        parsers.warm()
        (child,) = [child for child in children() if child.pid not in before]

        assert "SCRIMMAGE_ARENA_KEY" not in child.environ()
        assert child.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)


def test_text_is_read_in_place_and_starts_no_child() -> None:
    before = {child.pid for child in children()}
    with Parsers() as parsers:
        assert parsers.parse(b"id,n\nA-1,2\n", "a.csv").tables[0].locators[0].record == "A-1"
        assert {child.pid for child in children()} == before


def test_a_forked_process_leaves_the_children_of_its_parent_alone() -> None:
    with Parsers() as parsers:
        parsers.warm()
        pid = os.fork()
        if pid == 0:
            os._exit(0 if read(parsers).unreadable is None else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert read(parsers).unreadable is None
