"""Office files beyond the golden ones: what is broken or odd in them, and PDF words that lines break."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from shared.documents.document import Document, Fault, Part
from shared.documents.registry import parse

GOLDEN = Path(__file__).parents[4] / "golden"


def changed(name: str, member: str, replace: Mapping[str, str]) -> Document:
    """A golden file with words of one member replaced."""
    target = io.BytesIO()
    with zipfile.ZipFile(GOLDEN / name) as source, zipfile.ZipFile(target, "w") as archive:
        for info in source.namelist():
            text = source.read(info)
            for old, new in replace.items() if info == member else ():
                assert old.encode() in text
                text = text.replace(old.encode(), new.encode())
            archive.writestr(info, text)
    return parse(target.getvalue(), name)


@pytest.mark.parametrize("broken", ['t="s"><v>99', "><v>1e5x", 't="d"><v>yesterday'])
def test_a_broken_cell_does_not_spoil_a_sheet(broken: str) -> None:
    document = changed("hand.xlsx", "xl/worksheets/sheet1.xml", {"><v>1E3": f" {broken}"})

    assert document.tables[0].values[1][0] == Fault(broken.partition("<v>")[2])
    assert document.tables[0].values[0][1] == "k2"


def test_rows_out_of_order_are_put_in_order() -> None:
    document = changed("hand.xlsx", "xl/worksheets/sheet1.xml", {'<row r="7">': '<row r="2">'})

    rows = [block.locator.row for block in document.blocks if block.part is Part.BODY]
    assert rows == sorted(row for row in rows if row)


def test_a_cell_that_spans_columns_keeps_the_others_in_place() -> None:
    document = changed(
        "hand.docx",
        "word/document.xml",
        {"<w:tr><w:tc>": '<w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'},
    )

    assert document.tables[0].columns == ("host", "column_2", "zone")


def test_boxes_in_cells_and_headers_are_read_once() -> None:
    box = "<w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>"  # noqa: E501
    in_cell = changed(
        "hand.docx", "word/document.xml", {"<w:r><w:t>h1</w:t></w:r>": f"<w:r><w:t>h1</w:t></w:r>{box}"}
    )
    in_header = changed("hand.docx", "word/header1.xml", {"</w:p>": f"{box}</w:p>"})

    assert [(b.text, b.part) for b in in_cell.blocks if "boxed" in b.text] == [("boxed", Part.TEXTBOX)]
    assert [(b.text, b.part) for b in in_header.blocks if "boxed" in b.text] == [("boxed", Part.HEADER)]


def test_a_comment_in_a_table_is_not_its_cell_s_text() -> None:
    remark = '<office:annotation xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"><text:p>why?</text:p></office:annotation>'  # noqa: E501
    document = changed("minutes.odt", "content.xml", {">yes</text:p>": f">yes{remark}</text:p>"})

    assert list(document.tables[0].rows()) == [("Ann", "yes")]
    assert ("why?", Part.COMMENT) in [(block.text, block.part) for block in document.blocks]


def test_words_broken_over_lines_are_joined() -> None:
    target = io.BytesIO()
    page = Canvas(target)
    for row, line in enumerate(
        ["a con-", "fig-", "uration of TOK-", "A and a two-", "fold, twofold, two-fold"]
    ):
        page.drawString(50, 700 - 20 * row, line)
    page.save()

    text = parse(target.getvalue(), "x.pdf").blocks[0].text

    assert text == "a configuration of TOK-A and a two-fold, twofold, two-fold"


def test_a_file_that_pdfium_cannot_open_is_read_with_pypdf(monkeypatch: pytest.MonkeyPatch) -> None:
    import pypdfium2

    def refuse(*_: object) -> None:
        raise pypdfium2.PdfiumError("no", err_code=3)

    monkeypatch.setattr(pypdfium2, "PdfDocument", refuse)
    document = parse((GOLDEN / "roster.pdf").read_bytes(), "roster.pdf")

    assert "reader of logs" in document.blocks[0].text
    assert document.facts["problems"] == ["no; the text was read with another library"]
