"""Bytes to text and text to lines, the same everywhere.

A line ends at ``\\n`` or ``\\r\\n`` and nowhere else: ``str.splitlines`` also splits at U+2028, ``\\x0b`` and
others, and would shift every number after them.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 4096


class Text(NamedTuple):
    """Decoded text without its byte order mark, the encoding, and whether some bytes did not fit it."""

    text: str
    encoding: str
    repaired: bool = False


def decode(data: bytes) -> Text:
    """Decode by byte order mark, else as UTF-16 where every other byte is zero, else as UTF-8.

    Bytes that are not UTF-8 are read as Windows-1252 (Latin-1 with typographic marks), one by one: a Latin-1
    file comes out right, and one stray byte does not spoil a UTF-8 file.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decode(data[len(bom) :], encoding)
    return _decode(data, _unmarked(data))


def lines(text: str) -> list[str]:
    """The lines without their ends; a text that ends with a line end has no empty last line."""
    result = [line.removesuffix("\r") for line in text.split("\n")]
    if (result[-1] == "" and text.endswith("\n")) or text == "":
        result.pop()
    return result


def looks_like_text(data: bytes) -> bool:
    """True for bytes that decode cleanly and hold no control characters but the usual ones."""
    decoded = decode(data)
    if decoded.repaired:
        return False
    return not any(ord(c) < 32 and c not in "\t\n\r\f\x0b" for c in decoded.text[: 16 * _SAMPLE])


def _unmarked(data: bytes) -> str:
    sample = data[:_SAMPLE]
    half = len(sample) // 2
    if half >= 2:
        if sample[1::2].count(0) > 0.6 * half and not sample[0::2].count(0):
            return "utf-16-le"
        if sample[0::2].count(0) > 0.6 * half and not sample[1::2].count(0):
            return "utf-16-be"
    return "utf-8"


def _decode(data: bytes, encoding: str) -> Text:
    try:
        return Text(data.decode(encoding), encoding)
    except UnicodeDecodeError:
        pass
    if encoding != "utf-8":
        return Text(data.decode(encoding, errors="replace"), encoding, repaired=True)
    text = data.decode("utf-8", errors="scrimmage-cp1252")
    return Text(text, "utf-8" if _has_multibyte(data) else "windows-1252", repaired=True)


def _has_multibyte(data: bytes) -> bool:
    """True where some non-ASCII characters of the data are proper UTF-8."""
    return any(not c.isascii() for c in data.decode("utf-8", errors="ignore"))


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: reads the bytes that UTF-8 does not know as Windows-1252."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_CP1252[byte] for byte in wrong), error.end


_CP1252 = [
    bytes([byte]).decode("cp1252", errors="ignore") or bytes([byte]).decode("latin-1") for byte in range(256)
]
codecs.register_error("scrimmage-cp1252", _as_cp1252)
