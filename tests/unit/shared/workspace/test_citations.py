"""Sources are checked: one expectation per format and per way to be wrong."""

from __future__ import annotations

import io
from typing import Any

import docx
import openpyxl
import pytest
from reportlab.pdfgen.canvas import Canvas

from shared.documents.document import Document
from shared.documents.registry import parse
from shared.models import Source
from shared.workspace.citations import MANY, check


def pdf(pages: int) -> bytes:
    canvas = Canvas("unused.pdf")
    for page in range(pages):
        canvas.drawString(100, 100, f"This is page {page + 1}")
        canvas.showPage()
    data: bytes = canvas.getpdfdata()
    return data


def xlsx() -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "Transfers"  # type: ignore[union-attr]
    for row in (["id", "sum"], ["TR-1", 3], ["TR-2", 4], ["TR-3", 5]):
        book.active.append(row)  # type: ignore[union-attr]
    book.create_sheet("Other").append(["id", "x"])
    book["Other"].append(["TR-1", 1])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def letter() -> bytes:
    document = docx.Document()
    for text in ("First.", "", "Second."):
        document.add_paragraph(text)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


FILES = {
    "/AGENTS.md": b"# Rules\n\nBe kind.\n",
    "/fleet/tokens.csv": b"id,holder\nTOK-1,a\nTOK-2,b\n",
    "/fleet/agents.json": b'{"agents": [\n{"id": "a-1", "x": 1},\n{"id": "a-2", "x": 2}\n]}',
    "/logs/audit.jsonl": b'{"id": "E1", "ts": 1}\n{"id": "E2", "ts": 2}\n{"id": "E2", "ts": 3}\n',
    "/reports/one.pdf": pdf(1),
    "/reports/three.pdf": pdf(3),
    "/reports/letter.docx": letter(),
    "/security/export.xlsx": xlsx(),
    "/pictures/wall.png": b"\x89PNG\r\n\x1a\n broken",
    "/old/tokens.csv": b"id\nTOK-1\n",
    "/broken.pdf": b"%PDF nothing",
}


def document(path: str) -> Document:
    try:
        return parse(FILES[path], path)
    except Exception as error:
        return Document(path.rpartition(".")[2], unreadable=str(error))


def checked(**source: Any) -> tuple[dict[str, Any] | None, str | None]:
    """The source as it is submitted, and the note about it."""
    result = check([Source(**source)], FILES, document)
    kept = result.sources[0].wire() if result.sources else None
    return kept, result.notes[0].why if result.notes else None


@pytest.mark.parametrize(
    "source",
    [
        {"path": "/AGENTS.md", "line": 3},
        {"path": "/fleet/tokens.csv", "record": "TOK-2"},
        {"path": "/fleet/agents.json", "record": "a-2"},
        {"path": "/logs/audit.jsonl", "line": 3},
        {"path": "/reports/three.pdf", "page": 3},
        {"path": "/reports/letter.docx", "paragraph": 2},
        {"path": "/security/export.xlsx", "sheet": "Transfers", "row": 4},
        {"path": "/pictures/wall.png"},
        {"path": "/AGENTS.md"},
        {"path": "/reports/three.pdf"},
    ],
)
def test_a_right_source_stays_as_it_is(source: dict[str, Any]) -> None:
    assert checked(**source) == (source, None)


@pytest.mark.parametrize(
    ("source", "right"),
    [
        ({"path": "fleet//tokens.csv", "record": "TOK-1"}, {"path": "/fleet/tokens.csv", "record": "TOK-1"}),
        ({"path": "/Fleet/Tokens.CSV", "record": "tok-1 "}, {"path": "/fleet/tokens.csv", "record": "TOK-1"}),
        ({"path": "audit.jsonl", "line": 1}, {"path": "/logs/audit.jsonl", "line": 1}),
        ({"path": "/fleet/tokens.csv", "line": 3}, {"path": "/fleet/tokens.csv", "record": "TOK-2"}),
        (
            {"path": "/fleet/tokens.csv", "record": "TOK-2", "line": 9},
            {"path": "/fleet/tokens.csv", "record": "TOK-2"},
        ),
        ({"path": "/fleet/agents.json", "line": 2}, {"path": "/fleet/agents.json", "record": "a-1"}),
        ({"path": "/logs/audit.jsonl", "record": "E1"}, {"path": "/logs/audit.jsonl", "line": 1}),
        (
            {"path": "/security/export.xlsx", "record": "TR-3"},
            {"path": "/security/export.xlsx", "sheet": "Transfers", "row": 4},
        ),
        (
            {"path": "/security/export.xlsx", "row": 4},
            {"path": "/security/export.xlsx", "sheet": "Transfers", "row": 4},
        ),
        (
            {"path": "/security/export.xlsx", "sheet": "transfers ", "row": 2},
            {"path": "/security/export.xlsx", "sheet": "Transfers", "row": 2},
        ),
        ({"path": "/reports/one.pdf"}, {"path": "/reports/one.pdf", "page": 1}),
        ({"path": "/reports/one.pdf", "paragraph": 2}, {"path": "/reports/one.pdf", "page": 1}),
        ({"path": "/reports/three.pdf", "page": 2, "line": 7}, {"path": "/reports/three.pdf", "page": 2}),
        ({"path": "/pictures/wall.png", "page": 1}, {"path": "/pictures/wall.png"}),
    ],
)
def test_a_wrong_source_is_corrected_where_exactly_one_fits(
    source: dict[str, Any], right: dict[str, Any]
) -> None:
    kept, note = checked(**source)
    assert kept == right
    assert note is not None
    assert note.startswith("corrected to")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"path": "/nowhere.csv", "record": "x"}, "no such file"),
        ({"path": "tokens.csv", "record": "TOK-1"}, "no such file"),
        ({"path": "/fleet/tokens.csv", "record": "TOK-9"}, "no record TOK-9"),
        ({"path": "/fleet/tokens.csv", "line": 1}, "no line 1"),
        ({"path": "/fleet/tokens.csv", "row": 2}, "no row 2"),
        ({"path": "/logs/audit.jsonl", "line": 4}, "no line 4"),
        ({"path": "/logs/audit.jsonl", "record": "E2"}, "no record E2"),
        ({"path": "/AGENTS.md", "paragraph": 1}, "no paragraph 1"),
        ({"path": "/reports/three.pdf", "page": 4}, "no page 4"),
        ({"path": "/reports/three.pdf", "line": 1}, "no line 1"),
        ({"path": "/reports/letter.docx", "paragraph": 3}, "no paragraph 3"),
        ({"path": "/security/export.xlsx", "sheet": "Transfers", "row": 99}, "no sheet Transfers, row 99"),
        ({"path": "/security/export.xlsx", "row": 2}, "no row 2"),
        ({"path": "/security/export.xlsx", "record": "TR-1"}, "no record TR-1"),
        ({"path": "/security/export.xlsx", "sheet": "Nope", "row": 2}, "no sheet Nope"),
        ({"path": "/broken.pdf", "line": 2}, "cited by page"),
    ],
)
def test_a_wrong_source_is_dropped_where_none_or_several_fit(source: dict[str, Any], why: str) -> None:
    kept, note = checked(**source)
    assert kept is None
    assert note is not None
    assert note.startswith("dropped: ")
    assert why in note


def test_a_document_that_cannot_be_read_keeps_a_locator_of_the_right_kind() -> None:
    assert checked(path="/broken.pdf", page=2) == ({"path": "/broken.pdf", "page": 2}, None)


def test_duplicates_are_merged_also_those_that_were_spelled_otherwise() -> None:
    sources = [
        Source(path="/fleet/tokens.csv", record="TOK-1"),
        Source(path="fleet/tokens.csv", line=2),
        Source(path="/fleet/tokens.csv", record="TOK-1"),
    ]
    result = check(sources, FILES, document)
    assert result.sources == (sources[0],)
    assert [note.why for note in result.notes] == ["merged: cited already"] * 2


def test_many_sources_get_a_warning_and_stay() -> None:
    lines = b"".join(b"line %d\n" % number for number in range(60))
    files = {"/a.txt": lines}
    few = [Source(path="/a.txt", line=number) for number in range(1, MANY + 1)]
    assert check(few, files, lambda path: parse(files[path], path)).notes == ()
    many = [*few, Source(path="/a.txt", line=50)]
    result = check(many, files, lambda path: parse(files[path], path))
    assert len(result.sources) == MANY + 1
    (note,) = result.notes
    assert "penalised" in note.why
