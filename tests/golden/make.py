"""Makes the golden files again: `python tests/golden/make.py` (needs LibreOffice's `soffice` on the PATH).

Every file comes from a writer that shares no code with our readers: LibreOffice, reportlab, openpyxl, pypdf,
Pillow, or XML written by hand (`sources/`). The text files are their own source. What the readers must find
stands in `*.expected.json`, written by hand and never by this script.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
import zipfile
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "sources"


def main() -> None:
    """Write every file beside its expectation."""
    libreoffice("ledger.fods", "xlsx", "ods")
    libreoffice("minutes.fodt", "odt", "docx")
    libreoffice("roster.fodt", "pdf")
    for folder in sorted(path for path in SOURCES.iterdir() if path.is_dir()):
        (HERE / folder.name).write_bytes(zipped(folder))
    (HERE / "blocks.xlsx").write_bytes(blocks_xlsx())
    (HERE / "epoch1904.xlsx").write_bytes(epoch_xlsx())
    (HERE / "advisory.pdf").write_bytes(advisory_pdf())
    (HERE / "turned.pdf").write_bytes(turned_pdf())
    (HERE / "form.pdf").write_bytes(form_pdf())
    (HERE / "empty-password.pdf").write_bytes(encrypted_pdf(""))
    (HERE / "password.pdf").write_bytes(encrypted_pdf("secret"))
    pictures()


def libreoffice(source: str, *formats: str) -> None:
    """Let LibreOffice read a flat file and write it in other formats."""
    soffice = shutil.which("soffice")
    assert soffice is not None, "LibreOffice is needed to make these files"
    with tempfile.TemporaryDirectory() as folder:
        for form in formats:
            subprocess.run(
                [soffice, "--headless", "--convert-to", form, "--outdir", str(HERE), str(SOURCES / source)],
                check=True,
                env={"HOME": folder, "PATH": "/usr/bin:/bin"},
                capture_output=True,
            )


def zipped(folder: Path) -> bytes:
    """XML that was written by hand, as the zip that the format wants; making it again changes nothing."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(path.relative_to(folder).as_posix(), (2026, 11, 14, 0, 0, 0))
            archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target.getvalue()


def blocks_xlsx() -> bytes:
    """openpyxl: formulas without results, tables side by side, a declared one, a header in row 4."""
    import openpyxl
    from openpyxl.worksheet.table import Table

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "side by side"
    for row, cells in enumerate(
        [
            ["id", "n", None, "host", "zone"],
            ["A-1", 1, None, "h1", "north"],
            ["A-2", "=B2*2", None, "h2", "south"],
            ["A-3", 3, None, None, None],
        ],
        start=1,
    ):
        for column, value in enumerate(cells, start=1):
            sheet.cell(row, column).value = value
    second = book.create_sheet("report")
    second["A1"], second["A2"] = "Quarterly report", "draft, do not cite"
    for row, cells in enumerate(
        [("code", "label", "since"), ("007", "leading zeros", date(2026, 1, 31)), ("12", "text", None)],
        start=4,
    ):
        for column, value in enumerate(cells, start=1):
            second.cell(row, column).value = value
    second.row_dimensions[6].hidden = True
    third = book.create_sheet("declared")
    for cells in [("k", "v"), ("x", 1), ("y", 2), ("total", 3)]:
        third.append(cells)
    table = Table(displayName="Declared", ref="A1:B4")
    table.totalsRowCount = 1
    third.add_table(table)
    return saved(book)


def epoch_xlsx() -> bytes:
    """openpyxl: a workbook that counts its days from 1904."""
    import openpyxl
    from openpyxl.utils.datetime import CALENDAR_MAC_1904

    book = openpyxl.Workbook()
    book.epoch = CALENDAR_MAC_1904
    book.active.append(["id", "day"])
    book.active.append(["A-1", date(2026, 11, 14)])
    book.active.append(["A-2", date(1904, 1, 2)])
    return saved(book)


def saved(book) -> bytes:  # type: ignore[no-untyped-def]
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def canvas(target: io.BytesIO, **options: object):  # type: ignore[no-untyped-def]
    from reportlab.pdfgen.canvas import Canvas

    return Canvas(target, pagesize=(595, 842), invariant=1, **options)


def advisory_pdf() -> bytes:
    """reportlab: broken words, ligatures, soft hyphens, a ruled table, two columns."""
    from reportlab import rl_config
    from reportlab.lib import colors
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.platypus import Table, TableStyle

    rl_config.invariant = 1
    target = io.BytesIO()
    page = canvas(target)
    pdfmetrics.registerFont(TTFont("DejaVu", "DejaVuSans.ttf"))
    page.setFont("DejaVu", 10)
    lines = (
        "Advisory 7",
        "The con-",
        "figuration of agent-",
        "07 is e\ufb03cient; the \ufb01le is well-",
        "known. It is a well-known \ufb02aw.",
    )
    for row, line in enumerate(lines):
        page.drawString(50, 790 - 16 * row, line)
    table = Table([["Token", "Owner"], ["TOK-1", "agent-03"], ["TOK-2", "agent-07"]])
    table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)]))
    table.wrapOn(page, 400, 400)
    table.drawOn(page, 50, 600)
    page.showPage()
    for column in range(2):
        for row in range(6):
            page.drawString(50 + 270 * column, 790 - 16 * row, f"column {column + 1} line {row + 1}")
    page.showPage()
    page.save()
    return target.getvalue()


def turned_pdf() -> bytes:
    """reportlab: pages turned each way, text turned with them or against them, lines drawn out of order."""
    target = io.BytesIO()
    page = canvas(target)
    for turn in (90, 180, 270):
        page.setPageRotation(turn)
        page.drawString(100, 500, f"page turned by {turn}")
        page.drawString(100, 480, "second line")
        page.showPage()
    page.setPageRotation(90)
    page.translate(595, 0)
    page.rotate(90)
    page.drawString(100, 500, "landscape")
    page.drawString(100, 480, "second line")
    page.showPage()
    page.setPageRotation(0)
    page.drawString(50, 600, "third")
    page.drawString(50, 700, "first")
    page.drawString(50, 650, "second")
    page.showPage()
    page.save()
    return target.getvalue()


def form_pdf() -> bytes:
    """reportlab and pypdf: a form, a link, a sticky note, an attachment, and a page that is a picture."""
    from PIL import Image
    from pypdf import PdfWriter
    from pypdf.annotations import Text
    from reportlab.lib.utils import ImageReader

    target = io.BytesIO()
    page = canvas(target)
    page.setTitle("Access request")
    page.drawString(50, 790, "Access request")
    page.acroForm.textfield(name="requester", value="agent-07", x=50, y=700, width=200, height=20)
    page.acroForm.checkbox(name="approved", checked=True, x=50, y=650)
    page.linkURL("https://portal.example-a.test/x", (50, 780, 150, 800))
    page.showPage()
    page.drawImage(ImageReader(Image.new("RGB", (60, 80), "white")), 0, 0, 595, 842)
    page.showPage()
    page.save()
    writer = PdfWriter(clone_from=io.BytesIO(target.getvalue()))
    writer.add_annotation(0, Text(text="signed too late", rect=(100, 100, 120, 120)))
    writer.add_attachment("evidence.txt", b"attached words")
    result = io.BytesIO()
    writer.write(result)
    return result.getvalue()


def encrypted_pdf(password: str) -> bytes:
    """pypdf: encrypted with AES."""
    from pypdf import PdfWriter

    target = io.BytesIO()
    page = canvas(target)
    page.drawString(50, 790, "sealed words")
    page.showPage()
    page.save()
    writer = PdfWriter(clone_from=io.BytesIO(target.getvalue()))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
    result = io.BytesIO()
    writer.write(result)
    return result.getvalue()


def pictures() -> None:
    """Pillow: small pictures with words in their headers."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    words = PngInfo()
    words.add_text("Description", "console at 09:30")
    Image.new("RGB", (40, 30), "white").save(HERE / "console.png", pnginfo=words)
    exif = Image.Exif()
    exif[0x010E] = "gate camera"
    Image.new("L", (16, 9)).save(HERE / "gate.jpg", exif=exif)


if __name__ == "__main__":
    main()
