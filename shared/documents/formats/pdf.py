"""PDF: one block of text per page, in reading order, and whatever hangs on the page.

Text comes from PDFium, which was fastest and most often right over the samples (docs/formats.md); pypdf
reads what PDFium cannot open. Words broken at a line's end are joined and ligatures spelled out, so that a
search finds them. A page that is only a picture is said to be one.
"""

from __future__ import annotations

import io
import math
import re
import threading
from collections import Counter
from itertools import pairwise

import pypdfium2 as pdfium
from pypdfium2 import raw

from shared.documents.document import JSON, Block, Document, Part, Table
from shared.documents.formats import pdf_tables
from shared.documents.formats.pdf_asides import attachments, remarks
from shared.documents.formats.sheets import metadata_block
from shared.documents.locators import Locator
from shared.errors import Unreadable

MAX_PAGES = 2_000

_one_at_a_time = threading.Lock()
"""PDFium is not safe to use from several threads of a process."""
_WRONG_PASSWORD = 4
_LIGATURES = str.maketrans(
    {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st",
     "\ufb06": "st", "\u00a0": " ", "\0": None}
)  # fmt: skip
_BROKEN = "\ufffe"
"""What PDFium puts for a hyphen and the line's end after it."""
_LINE = re.compile(f"[^\r\n{_BROKEN}]+{_BROKEN}?")
_HYPHEN = re.compile(f"(\\w+)(?:{_BROKEN}|[-\u2010\u00ad]\n)(?=(\\w+))")


def parse(data: bytes) -> Document:
    """Read a PDF; the empty password is tried on an encrypted one.

    Raises:
        Unreadable: no PDF, damaged beyond what two libraries can mend, encrypted, or too many pages.
    """
    with _one_at_a_time:
        try:
            pdf = pdfium.PdfDocument(data)
        except pdfium.PdfiumError as error:
            if error.err_code == _WRONG_PASSWORD:
                raise Unreadable("encrypted with a password") from None
            return _with_pypdf(data, str(error))
        try:
            return _read(pdf)
        finally:
            pdf.close()


def _read(pdf: pdfium.PdfDocument) -> Document:
    _check(len(pdf))
    if pdf.get_formtype():
        pdf.init_forms()
    texts: list[str] = []
    tables: list[Table] = []
    asides: dict[int, list[Block]] = {}
    images: list[int] = []
    for number in range(1, len(pdf) + 1):
        page = pdf[number - 1]
        text, textpage = _text(page)
        texts.append(text)
        if not text.strip() and _has_image(page):
            images.append(number)
        if page.get_rotation() == 0:
            tables += pdf_tables.find(page, textpage, number)
        asides[number] = list(remarks(pdf, page, Locator(page=number)))
        page.close()
    blocks = _blocks(texts, images, asides)
    blocks += attachments(pdf)
    blocks += [metadata_block(name, value) for name, value in pdf.get_metadata_dict(skip_empty=True).items()]
    facts: dict[str, JSON] = {"pages": len(pdf)}
    if images:
        facts["image_pages"] = images
    return Document("pdf", blocks, tables, facts)


def _check(pages: int) -> None:
    if pages > MAX_PAGES:
        raise Unreadable(f"{pages} pages, at most {MAX_PAGES} are read")
    if pages == 0:
        raise Unreadable("damaged: it has no pages")


def _blocks(texts: list[str], images: list[int], asides: dict[int, list[Block]]) -> list[Block]:
    """The pages, each followed by what hangs on it."""
    whole = set(re.findall(r"\w+-\w+", "\n".join(texts)))
    blocks: list[Block] = []
    for number, text in enumerate(texts, 1):
        locator = Locator(page=number)
        if text.strip():
            blocks.append(Block(_joined(text, whole).strip(), locator))
        if number in images:
            note = f"page {number} is an image without text: look at it"
            blocks.append(Block(note, locator, Part.NOTE, citable=False))
        blocks += asides.get(number, ())
    return blocks


def _joined(text: str, whole: set[str]) -> str:
    """The text with ligatures spelled out and words put together that a line's end broke.

    A hyphen stays where it belongs to the word: beside digits and capitals (``agent-`` ``07``), and where
    the document has the word with its hyphen elsewhere.
    """

    def join(match: re.Match[str]) -> str:
        before, after = match[1], match[2]
        is_one_word = before[-1:].islower() and after[0].islower() and f"{before}-{after}" not in whole
        return before + ("" if is_one_word else "-")

    return _HYPHEN.sub(join, text.translate(_LIGATURES)).replace(_BROKEN, "-\n").replace("\u00ad", "")


def _text(page: pdfium.PdfPage) -> tuple[str, pdfium.PdfTextPage]:
    """A page's text in reading order.

    PDFium puts lines in the right order if the text runs from left to right as the page is shown, so the
    page is turned until it does.
    """
    textpage = page.get_textpage()
    angle = _angle(textpage)
    rotation = (360 - angle) % 360
    if rotation != page.get_rotation():
        page.set_rotation(rotation)
        textpage = page.get_textpage()
    text = textpage.get_text_range()
    if rotation == 0:
        text = _in_order(textpage, text)
    return text.replace("\r\n", "\n").replace("\r", "\n"), textpage


def _angle(textpage: pdfium.PdfTextPage) -> int:
    """The direction of most of the text, in quarter turns: 0, 90, 180 or 270 degrees."""
    count = textpage.count_chars()
    sample = range(0, count, max(1, count // 100))
    angles = (raw.FPDFText_GetCharAngle(textpage.raw, index) for index in sample)
    turns = Counter(round(math.degrees(angle) / 90) % 4 * 90 for angle in angles if angle >= 0)
    return turns.most_common(1)[0][0] if turns else 0


def _in_order(textpage: pdfium.PdfTextPage, text: str) -> str:
    """The lines from top to bottom where they were drawn in a scrambled order.

    The order of drawing is mostly that of reading, also in columns, and is kept; it is given up only if
    more than a quarter of the lines stand above the line before them.
    """
    lines = [(match.group(), match.start()) for match in _LINE.finditer(text)]
    last = textpage.count_chars() - 1
    places = [textpage.get_charbox(min(start, last)) for _, start in lines]
    jumps = sum(below[1] > above[3] for above, below in pairwise(places))
    if 4 * jumps <= len(lines):
        return text
    ordered = sorted(zip(lines, places, strict=True), key=lambda item: (-round(item[1][1]), item[1][0]))
    return "".join(line if line.endswith(_BROKEN) else f"{line}\n" for (line, _), _ in ordered)


def _has_image(page: pdfium.PdfPage) -> bool:
    return next(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3), None) is not None


def _with_pypdf(data: bytes, problem: str) -> Document:
    """The text of a file that PDFium does not open."""
    import pypdf
    from pypdf.errors import PyPdfError

    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        _check(len(reader.pages))
        texts = [page.extract_text() for page in reader.pages]
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise Unreadable(f"damaged, or no PDF: {error or problem}") from None
    facts = {"pages": len(texts), "problems": [f"{problem}; the text was read with another library"]}
    return Document("pdf", _blocks(texts, [], {}), facts=facts)
