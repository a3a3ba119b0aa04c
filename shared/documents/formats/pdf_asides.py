"""What hangs on a PDF beside the text of its pages: annotations, form fields, attachments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ctypes import c_char, c_ushort
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from shared.documents.document import Block, Part
from shared.documents.encoding import decode, looks_like_text
from shared.documents.locators import NOWHERE, Locator

MAX_ANNOTATIONS = 1_000
"""Per page."""
MAX_ATTACHED_TEXT = 100_000
"""Bytes of an attached text file that are read."""


def remarks(pdf: pdfium.PdfDocument, page: pdfium.PdfPage, locator: Locator) -> Iterator[Block]:
    """The remarks on a page, the targets of its links, and the fields of its form with what they hold."""
    for index in range(min(raw.FPDFPage_GetAnnotCount(page.raw), MAX_ANNOTATIONS)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET:
                text, part = _field(pdf, annotation), Part.FIELD
            else:
                text, part = _remark(pdf, annotation), Part.ANNOTATION
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
        if text.strip():
            yield Block(text, locator, part, citable=False)


def attachments(pdf: pdfium.PdfDocument) -> Iterator[Block]:
    """The files within the file: their names and sizes, and the text of those that are plain text."""
    for index in range(pdf.count_attachments()):
        attachment = pdf.get_attachment(index)
        name = attachment.get_name()
        try:
            content = bytes(attachment.get_data())
        except pdfium.PdfiumError as error:
            yield Block(
                f"attachment {name}: cannot be read ({error})", NOWHERE, Part.ATTACHMENT, citable=False
            )
            continue
        text = decode(content[:MAX_ATTACHED_TEXT]).text if looks_like_text(content) else ""
        label = f"attachment {name}, {len(content)} bytes"
        yield Block(f"{label}\n{text}".strip(), NOWHERE, Part.ATTACHMENT, citable=False)


def _remark(pdf: pdfium.PdfDocument, annotation: raw.FPDF_ANNOTATION) -> str:
    link = raw.FPDFAnnot_GetLink(annotation)
    action = raw.FPDFLink_GetAction(link) if link else None
    author, pieces = _string(annotation, b"T"), [_string(annotation, b"Contents")]
    if action:
        size = raw.FPDFAction_GetURIPath(pdf.raw, action, None, 0)
        if size > 1:
            buffer = (c_char * size)()
            raw.FPDFAction_GetURIPath(pdf.raw, action, buffer, size)
            pieces.append(buffer.raw[: size - 1].decode("utf-8", "replace"))
    text = ": ".join(filter(None, pieces))
    return f"{author}: {text}" if author and text else text


def _field(pdf: pdfium.PdfDocument, annotation: raw.FPDF_ANNOTATION) -> str:
    """``name: value`` of a form field; whether it is checked, for a box."""
    form = pdf.formenv
    if form is None:
        return f"{_string(annotation, b'T')}: {_string(annotation, b'V')}".strip(": ")
    name = _utf16(lambda buffer, size: raw.FPDFAnnot_GetFormFieldName(form.raw, annotation, buffer, size))
    value = _utf16(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form.raw, annotation, buffer, size))
    kind = raw.FPDFAnnot_GetFormFieldType(form.raw, annotation)
    if kind in {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}:
        is_checked = raw.FPDFAnnot_IsChecked(form.raw, annotation)
        value = "checked" if is_checked else "not checked"
    return f"{name}: {value}" if name or value else ""


def _string(annotation: raw.FPDF_ANNOTATION, key: bytes) -> str:
    return _utf16(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, key, buffer, size))


def _utf16(call: Callable[[Any, int], int]) -> str:
    """The string that a PDFium function writes: asked for its size in bytes first, then for the string."""
    size = call(None, 0)
    if size <= 2:
        return ""
    buffer = (c_ushort * (size // 2))()
    call(buffer, size)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0").replace("\r", "\n")
