"""PDF documents of several pages."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas


def write_pdf(title: str, pages: Sequence[Sequence[str]]) -> bytes:
    """One page per element, one paragraph per text; a text that starts with ``# `` is a heading.

    A page holds about 55 lines of 92 characters; what is longer is the caller's fault.
    """
    buffer = io.BytesIO()
    # ``invariant`` takes creation time and random ids out of the file.
    canvas = Canvas(buffer, pagesize=A4, invariant=1, pageCompression=1)
    canvas.setTitle(title)
    for number, paragraphs in enumerate(pages, start=1):
        canvas.setFont("Helvetica", 8)
        canvas.drawString(56, 806, title)
        canvas.drawRightString(540, 30, f"{number} / {len(pages)}")
        height = 780.0
        for paragraph in paragraphs:
            heading = paragraph.startswith("# ")
            canvas.setFont("Helvetica-Bold" if heading else "Helvetica", 13 if heading else 10)
            for line in textwrap.wrap(paragraph.removeprefix("# "), 92):
                canvas.drawString(56, height, line)
                height -= 14
            height -= 7
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()
