"""Bytes to text, and text to lines."""

from __future__ import annotations

import codecs

import pytest

from shared.documents.encoding import decode, lines, looks_like_text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_text_is_decoded_whatever_its_unicode_encoding(encoding: str) -> None:
    assert decode("id,name\nA-1,Zoë\n".encode(encoding)).text == "id,name\nA-1,Zoë\n"


@pytest.mark.parametrize("bom", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_utf_16_that_breaks_off_is_still_read(bom: bytes) -> None:
    data = bom + "abc".encode("utf-16-le" if bom == codecs.BOM_UTF16_LE else "utf-16-be")

    decoded = decode(data[:-1])

    assert decoded.text.startswith("ab")
    assert decoded.repaired


def test_latin_1_is_not_taken_for_utf_8() -> None:
    assert decode("José – “quoted” 5 €".encode("cp1252")) == ("José – “quoted” 5 €", "windows-1252", True)


def test_a_stray_byte_does_not_spoil_a_utf_8_file() -> None:
    assert decode("Zoë and Jos".encode() + b"\xe9") == ("Zoë and José", "utf-8", True)


def test_every_byte_decodes_to_something() -> None:
    assert len(decode(bytes(range(128, 256))).text) == 128


def test_only_newlines_end_lines() -> None:
    text = "a\u2028b\x0bc\x0cd\x1ee\x85f\rg\r\nh\n\ni"

    assert lines(text) == ["a\u2028b\x0bc\x0cd\x1ee\x85f\rg", "h", "", "i"]


@pytest.mark.parametrize(("text", "expected"), [("", []), ("\n", [""]), ("a\n", ["a"]), ("a\n\n", ["a", ""])])
def test_a_last_line_end_starts_no_line(text: str, expected: list[str]) -> None:
    assert lines(text) == expected


def test_binary_bytes_do_not_look_like_text() -> None:
    assert looks_like_text(b"plain\twords\r\n")
    assert not looks_like_text(b"\x00\x01binary")
    assert not looks_like_text(b"\xff\xd8\xff\xe0 jpeg")
