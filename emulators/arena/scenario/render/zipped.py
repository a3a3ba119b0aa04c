"""Zip containers with nothing in them that depends on when or where they were written."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from xml.sax.saxutils import escape

_WHEN = (2026, 1, 1, 0, 0, 0)
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def pack(members: Sequence[tuple[str, str]], *, stored: Sequence[str] = ()) -> bytes:
    """The members, in their order, as a zip; those named in ``stored`` are not compressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members:
            info = zipfile.ZipInfo(name, _WHEN)
            info.create_system = 3
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(info, text.encode())
    return buffer.getvalue()


def attribute(text: str) -> str:
    """``text`` for use between double quotes."""
    return escape(text, {'"': "&quot;"})
