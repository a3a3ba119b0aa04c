"""The writers' files open in the readers that people use, with every number where the Task API counts it."""

from __future__ import annotations

import io
from datetime import date

import docx
import odf.opendocument
import odf.text
import openpyxl
import pdfplumber
import pytest
import python_calamine
from PIL import Image

from emulators.arena.scenario.render.book import Formula, Sheet, write_book
from emulators.arena.scenario.render.paper import Paper, Paragraph, write_paper
from emulators.arena.scenario.render.picture import write_picture
from emulators.arena.scenario.render.records import write_records
from emulators.arena.scenario.render.sheaf import write_pdf

LONG = "A <paragraph> & its text, long enough to be split into runs as an editor would leave them."
PAPER = Paper(
    "Title",
    "header",
    "footer",
    (Paragraph("Heading", "heading"), Paragraph(""), Paragraph(LONG), Paragraph("point", "bullet")),
    (("a", "b"), ("1", "2")),
)
BOOK = (
    Sheet(
        "Costs & more",
        (
            ("Title", None, None),
            (),
            ("name", "amount", "day"),
            ("x", 3, date(2026, 11, 2)),
            ("all", Formula("SUM(B4:B4)", 3)),
        ),
        merged=((1, 1, 3),),
    ),
    Sheet("kept back", (("y", 5),), hidden=True),
)


def test_python_docx_numbers_paragraphs_as_the_paper_does() -> None:
    document = docx.Document(io.BytesIO(write_paper(PAPER, "docx")))
    filled = [paragraph.text for paragraph in document.paragraphs if paragraph.text.strip()]
    assert filled == ["Heading", LONG, "point"]
    assert PAPER.number("long enough") == 2
    assert document.sections[0].header.paragraphs[0].text == "header"
    assert [cell.text for cell in document.tables[0].rows[1].cells] == ["1", "2"]


def test_odfpy_numbers_paragraphs_as_the_paper_does() -> None:
    document = odf.opendocument.load(io.BytesIO(write_paper(PAPER, "odt")))
    texts = []
    for node in document.text.childNodes:
        if node.qname[1] == "table":
            break
        texts.append(str(node))
    assert [text for text in texts if text] == ["Heading", LONG, "point"]


def test_a_paper_says_which_text_it_lacks() -> None:
    with pytest.raises(ValueError, match="no paragraph contains 'elsewhere'"):
        PAPER.number("elsewhere")


def test_openpyxl_sees_rows_formulas_merges_and_the_hidden_sheet() -> None:
    data = write_book(BOOK, "xlsx")
    book = openpyxl.load_workbook(io.BytesIO(data))
    sheet = book["Costs & more"]
    assert [str(merged) for merged in sheet.merged_cells.ranges] == ["A1:C1"]
    assert (sheet["A4"].value, sheet["B4"].value, sheet["C4"].value.date()) == ("x", 3, date(2026, 11, 2))
    assert sheet["B5"].value == "=SUM(B4:B4)"
    assert openpyxl.load_workbook(io.BytesIO(data), data_only=True)["Costs & more"]["B5"].value == 3
    assert book["kept back"].sheet_state == "hidden"


@pytest.mark.parametrize("form", ["xlsx", "ods"])
def test_calamine_sees_the_same_cells_in_both_formats(form: str) -> None:
    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(write_book(BOOK, form)))  # type: ignore[arg-type]
    cells = book.get_sheet_by_name("Costs & more").to_python(skip_empty_area=False)
    assert cells[3] == ["x", 3, date(2026, 11, 2)]
    assert cells[4][:2] == ["all", 3]
    assert [str(sheet.visible) for sheet in book.sheets_metadata] == [
        "SheetVisibleEnum.Visible",
        "SheetVisibleEnum.Hidden",
    ]


def test_a_pdf_has_its_pages() -> None:
    data = write_pdf("Notice", [["# One", "first page"], ["second page"], ["- third.example"]])
    with pdfplumber.open(io.BytesIO(data)) as document:
        texts = [page.extract_text() for page in document.pages]
    assert "second page" in texts[1]
    assert "third.example" in texts[2]
    assert len(texts) == 3


def test_records_have_an_id_in_both_formats() -> None:
    rows = [{"id": "T-1", "holder": "a, b", "ended": None}]
    columns = {"id": "token_no", "holder": "bearer", "ended": "ended"}
    assert write_records(rows, columns, "csv") == b'token_no,bearer,ended\nT-1,"a, b",\n'
    assert b'{"id": "T-1", "bearer": "a, b", "ended": null}' in write_records(rows, columns, "json")


@pytest.mark.parametrize(("form", "name"), [("png", "PNG"), ("jpg", "JPEG")])
def test_pictures_are_what_their_suffix_says(form: str, name: str) -> None:
    image = Image.open(io.BytesIO(write_picture("Queue", ["agent-01  12"], form, dark=True)))  # type: ignore[arg-type]
    assert image.format == name
    assert image.width > image.height
