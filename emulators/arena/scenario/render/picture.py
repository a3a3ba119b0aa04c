"""Screenshots: lines of text in a window, as png or jpg."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

PictureFormat = Literal["png", "jpg"]

_LINE, _MARGIN, _BAR, _SCALE = 14, 10, 18, 2


def write_picture(title: str, lines: Sequence[str], form: PictureFormat, *, dark: bool) -> bytes:
    """A screenshot of a window with that title and those lines (ASCII), in a fixed-pitch bitmap font."""
    font = _font()
    columns = max(len(title), *(len(line) for line in lines))
    size = (columns * 6 + 2 * _MARGIN, len(lines) * _LINE + 2 * _MARGIN + _BAR)
    paper, ink = ((24, 26, 32), (232, 232, 228)) if dark else ((250, 250, 247), (24, 24, 28))
    image = Image.new("RGB", size, paper)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, size[0], _BAR), fill=(52, 84, 128))
    draw.text((_MARGIN, 3), title, fill=(255, 255, 255), font=font)
    for number, line in enumerate(lines):
        draw.text((_MARGIN, _BAR + _MARGIN + number * _LINE), line, fill=ink, font=font)
    image = image.resize((size[0] * _SCALE, size[1] * _SCALE), Image.Resampling.NEAREST)
    buffer = io.BytesIO()
    if form == "png":
        image.save(buffer, "PNG", compress_level=6)
    else:
        image.save(buffer, "JPEG", quality=88)
    return buffer.getvalue()


@cache
def _font() -> ImageFont.ImageFont:
    return ImageFont.load_default_imagefont()
