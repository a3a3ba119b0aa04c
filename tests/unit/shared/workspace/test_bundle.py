from __future__ import annotations

import hashlib
import io
import tracemalloc
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.workspace.bundle import unpack

FILES = {"/AGENTS.md": b"# Rules\n", "/logs/a.jsonl": b'{"n": 1}\n' * 500, "/empty.txt": b""}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


PATHS = {path: sha(data) for path, data in FILES.items()}
SIZES = {sha(data): len(data) for data in FILES.values()}
ALL = {sha(data): data for data in FILES.values()}


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def read(bundle: bytes, wanted: set[str] | None = None, limit: int = 10_000) -> dict[str, bytes]:
    return unpack(bundle, PATHS, SIZES, set(ALL) if wanted is None else wanted, limit)


@pytest.mark.parametrize("prefix", ["", "/", "t01/", "workspace/"])
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_listed_files_are_read_wherever_the_zip_puts_them(prefix: str, compression: int) -> None:
    names = {prefix + path.lstrip("/"): data for path, data in FILES.items()}
    assert read(zipped(names, compression)) == ALL


def test_only_what_is_wanted_is_read() -> None:
    wanted = sha(FILES["/AGENTS.md"])
    assert read(zipped(FILES), {wanted}) == {wanted: FILES["/AGENTS.md"]}


def test_a_file_in_another_state_is_left_out() -> None:
    changed = FILES | {"/AGENTS.md": b"# Other rules\n", "/logs/a.jsonl": FILES["/logs/a.jsonl"][:-1] + b"x"}
    assert read(zipped(changed)) == {sha(b""): b""}


def test_names_that_lead_elsewhere_are_not_even_opened() -> None:
    hostile = {f"{way}AGENTS.md": b"#" for way in ("../", "a/../", "C:\\", "./../../etc/")}
    assert read(zipped(hostile | {"a\x00b": b"", "x" * 60_000: b""})) == {}


def test_a_bomb_is_not_inflated() -> None:
    bomb = zipped({"/AGENTS.md": b"\0" * 50_000_000, "/unlisted": b"\0" * 50_000_000})

    tracemalloc.start()
    try:
        assert read(bomb) == {}
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_an_entry_that_lies_about_its_size_is_cut_off() -> None:
    bundle = bytearray(zipped({"/AGENTS.md": b"\0" * 5_000_000}))
    for header, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = bundle.rindex(header) + offset
        bundle[at : at + 4] = len(FILES["/AGENTS.md"]).to_bytes(4, "little")
    assert read(bytes(bundle)) == {}


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_without_a_bound_are_left_out(compression: int) -> None:
    assert read(zipped(FILES, compression)) == {}


def test_a_file_of_unknown_size_is_read_up_to_the_limit() -> None:
    data = b"x" * 1000
    bundle = zipped({"/x": data})
    assert unpack(bundle, {"/x": sha(data)}, {}, {sha(data)}, 1000) == {sha(data): data}
    assert unpack(bundle, {"/x": sha(data)}, {}, {sha(data)}, 999) == {}


@pytest.mark.parametrize("bundle", [b"", b"PK", b"<html>", zipped(FILES)[:-30], zipped({})])
def test_what_is_no_zip_holds_nothing(bundle: bytes) -> None:
    assert read(bundle) == {}


@given(st.data())
def test_damage_costs_files_and_nothing_else(data: st.DataObject) -> None:
    bundle = bytearray(zipped(FILES))
    for place in data.draw(st.lists(st.integers(0, len(bundle) - 1), min_size=1, max_size=6)):
        bundle[place] = data.draw(st.integers(0, 255))
    for name, content in read(bytes(bundle)).items():
        assert ALL[name] == content
