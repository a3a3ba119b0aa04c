"""PNG and JPEG: the header alone (size, mode) and the words that are stored beside the picture.

Pictures have no locator: they are cited by their path and looked at by a model.
"""

from __future__ import annotations

import io
import warnings

from PIL import ExifTags, Image

from shared.documents.document import Block, Document
from shared.documents.formats.sheets import metadata_block
from shared.errors import Unreadable

MAX_PIXELS = 100_000_000
"""No screenshot is larger; a larger one would need gigabytes in whatever looks at it."""
MAX_WORDS = 10_000
"""Characters of one stored text."""

_FORMATS = {"PNG": "png", "JPEG": "jpg"}


def parse(data: bytes) -> Document:
    """Read a picture's header; no pixel is decoded.

    Raises:
        Unreadable: no picture, damaged, or a huge one.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data), formats=list(_FORMATS))
    except Image.DecompressionBombError as error:
        raise Unreadable(f"a huge picture: {error}") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise Unreadable(f"not a PNG or JPEG picture, or a damaged one: {error}") from None
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise Unreadable(f"a huge picture: {width} x {height} pixels, at most {MAX_PIXELS} in all are read")
    words = {str(key): value for key, value in image.info.items() if isinstance(value, str)}
    if isinstance(image.info.get("comment"), bytes):
        words["comment"] = image.info["comment"].decode("utf-8", "replace")
    for tag, value in image.getexif().items():
        if isinstance(value, str):
            words[ExifTags.TAGS.get(tag, f"tag {tag}")] = value
    blocks: list[Block] = [
        metadata_block(name, value[:MAX_WORDS].strip("\0 \n"))
        for name, value in words.items()
        if value.strip("\0 \n")
    ]
    facts = {"width": width, "height": height, "mode": image.mode, "bytes": len(data)}
    return Document(_FORMATS[str(image.format)], blocks, facts=facts)
