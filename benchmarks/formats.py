"""Which library reads what, how fast and how right.

    python -m benchmarks.formats

For sheets and PDF the candidates stand beside our reader in one run, in one thread. Times are processor
time, medians of five rounds: other work on the machine changes them little.
"Right" is the share of the golden pages' lines that come out whole and in their place; what a reader of
sheets gives is said in words. Caveats: the files are small or made by one writer.
"""

from __future__ import annotations

import io
import json
import resource
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pdfplumber
import pypdf
import pypdfium2
import python_calamine
from odf import teletype
from odf.opendocument import OpenDocumentSpreadsheet, load
from odf.table import Table, TableCell, TableRow
from odf.text import P
from reportlab.pdfgen.canvas import Canvas

from benchmarks.command import arguments
from shared.documents import codec
from shared.documents.document import Part
from shared.documents.registry import parse
from shared.documents.sandbox import Parsers

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
ROWS = 2_000
PDFS = ["advisory.pdf", "turned.pdf", "roster.pdf", "empty-password.pdf", "form.pdf"]


def main() -> None:
    """Print a table per question."""
    arguments(__doc__).parse_args()
    warnings.simplefilter("ignore")
    pdf_libraries()
    sheet_libraries()
    own_readers()
    sandbox()


def median(
    work: Callable[[], object], rounds: int = 5, clock: Callable[[], float] = time.process_time
) -> float:
    """Seconds of one round: the median of several."""
    times = []
    for _ in range(rounds):
        started = clock()
        work()
        times.append(clock() - started)
    return statistics.median(times)


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n{title}\n")
    print(f"| {' | '.join(header)} |")
    print("|" + "---|" * len(header))
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def pdf_libraries() -> None:
    """Time per page of a report, and the share of expected lines that come out in their order."""
    candidates: dict[str, Callable[[bytes], list[str]]] = {
        "pypdfium2, bare": with_pdfium,
        "pypdf": with_pypdf,
        "pdfplumber": with_plumber,
        "ours (pypdfium2; with tables, remarks, fields)": ours,
    }
    report, pages = report_pdf(), 20
    rows = []
    for name, read in candidates.items():
        seconds = median(lambda read=read: read(report))  # type: ignore[misc]
        rows.append((name, f"{seconds / pages * 1000:.2f} ms", f"{rightness(read):.0%}"))
    table("PDF", ("reader", "per page", "lines right"), rows)


def with_pdfium(data: bytes) -> list[str]:
    return [page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(data)]


def with_pypdf(data: bytes) -> list[str]:
    return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages]


def with_plumber(data: bytes) -> list[str]:
    with pdfplumber.open(io.BytesIO(data)) as pdf:
        return [page.extract_text() for page in pdf.pages]


def ours(data: bytes) -> list[str]:
    blocks = [block for block in parse(data, "x.pdf").blocks if block.part is Part.BODY]
    return [block.text for block in blocks]


def rightness(read: Callable[[bytes], list[str]]) -> float:
    """The share of the golden pages' lines that come out whole and follow the line that they should."""
    right = total = 0
    for name in PDFS:
        expected = json.loads((GOLDEN / f"{name}.expected.json").read_text())["blocks"]
        lines = [line for text, _, part in expected if part == "body" for line in text.split("\n")]
        found = [line.strip() for text in read((GOLDEN / name).read_bytes()) for line in text.splitlines()]
        pairs = set(zip(["", *found], [*found, ""], strict=True)) if found else set()
        wanted = list(zip(["", *lines], [*lines, ""], strict=True))
        right += sum(pair in pairs for pair in wanted)
        total += len(wanted)
    return right / total


def report_pdf() -> bytes:
    """Twenty pages of fifty lines."""
    target = io.BytesIO()
    page = Canvas(target, invariant=1)
    for number in range(20):
        for line in range(50):
            page.drawString(
                40, 800 - 15 * line, f"{number}.{line} agent-{line:02} moved {line * 7} records to host-a"
            )
        page.showPage()
    page.save()
    return target.getvalue()


def sheet_libraries() -> None:
    """Time per thousand rows of eight cells, and what of a cell comes out."""
    xlsx, ods = sheet_xlsx(), sheet_ods()
    rows = [
        (
            "openpyxl, once",
            "xlsx",
            median(lambda: with_openpyxl(xlsx)),
            "values or formulas, notes, hidden rows",
        ),
        (
            "openpyxl, twice",
            "xlsx",
            median(lambda: (with_openpyxl(xlsx), with_openpyxl(xlsx, values=True))),
            "values, formulas, notes, hidden rows",
        ),
        ("calamine", "xlsx", median(lambda: with_calamine(xlsx)), "values"),
        (
            "ours (lxml)",
            "xlsx",
            median(lambda: parse(xlsx, "x.xlsx")),
            "all of these, shown texts, boxes; blocks and tables",
        ),
        ("odfpy", "ods", median(lambda: with_odfpy(ods)), "all, as a tree to walk"),
        ("calamine", "ods", median(lambda: with_calamine(ods)), "values"),
        ("ours (lxml)", "ods", median(lambda: parse(ods, "x.ods")), "all of these; blocks and tables"),
    ]
    table(
        f"Sheets of {ROWS} rows, 8 cells each",
        ("reader", "format", "per 1000 rows", "gives"),
        [(name, form, f"{seconds / ROWS * 1e6:.0f} ms", gives) for name, form, seconds, gives in rows],
    )


def records() -> list[list[Any]]:
    start = datetime(2026, 11, 14)
    return [
        [
            f"T-{n}",
            f"host-{n % 50}",
            start + timedelta(minutes=n),
            n * 1.5,
            n / ROWS,
            n % 2 == 0,
            f"remark {n}",
            n * 3,
        ]
        for n in range(ROWS)
    ]


def sheet_xlsx() -> bytes:
    book = openpyxl.Workbook()
    book.active.append(["id", "host", "at", "amount", "share", "ok", "remark", "triple"])
    for record in records():
        book.active.append(record)
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def sheet_ods() -> bytes:
    book = OpenDocumentSpreadsheet()
    sheet = Table(name="Sheet")
    book.spreadsheet.addElement(sheet)
    for record in [["id", "host", "at", "amount", "share", "ok", "remark", "triple"], *records()]:
        row = TableRow()
        sheet.addElement(row)
        for value in record:
            row.addElement(ods_cell(value))
    target = io.BytesIO()
    book.write(target)
    return target.getvalue()


def ods_cell(value: Any) -> TableCell:
    if isinstance(value, bool):
        return TableCell(valuetype="boolean", booleanvalue=str(value).lower())
    if isinstance(value, int | float):
        return TableCell(valuetype="float", value=repr(value))
    if isinstance(value, datetime):
        return TableCell(valuetype="date", datevalue=value.isoformat())
    cell, paragraph = TableCell(valuetype="string"), P()
    teletype.addTextToElement(paragraph, value)
    cell.addElement(paragraph)
    return cell


def with_openpyxl(data: bytes, *, values: bool = False) -> int:
    book = openpyxl.load_workbook(io.BytesIO(data), data_only=values)
    return sum(cell.value is not None for sheet in book for row in sheet.iter_rows() for cell in row)


def with_calamine(data: bytes) -> object:
    return python_calamine.load_workbook(io.BytesIO(data)).get_sheet_by_index(0).to_python()


def with_odfpy(data: bytes) -> int:
    return sum(1 for _ in load(io.BytesIO(data)).getElementsByType(TableCell))


def own_readers() -> None:
    """Each format: reading, storing, and loading what was stored."""
    csv = "id,host,n\n" + "".join(f"T-{n},host-{n % 50},{n * 3}\n" for n in range(ROWS))
    events = [
        {"id": f"T-{n}", "at": f"2026-11-14T00:00:{n % 60:02}Z", "agent": f"agent-{n % 9}"}
        for n in range(ROWS)
    ]
    files = {
        "csv": csv.encode(),
        "jsonl": "\n".join(map(json.dumps, events)).encode(),
        "json": json.dumps(events, indent=1).encode(),
        "txt": csv.encode(),
        "xlsx": sheet_xlsx(),
        "ods": sheet_ods(),
        "pdf": report_pdf(),
        "docx": (GOLDEN / "hand.docx").read_bytes(),
        "odt": (GOLDEN / "minutes.odt").read_bytes(),
        "png": (GOLDEN / "console.png").read_bytes(),
    }
    rows = []
    for form, data in files.items():
        document = parse(data, f"x.{form}")
        stored = codec.dump(document)
        reading = median(lambda data=data, form=form: parse(data, f"x.{form}"))  # type: ignore[misc]
        storing = median(lambda document=document: codec.dump(document))  # type: ignore[misc]
        opening = median(lambda stored=stored: codec.load(stored))  # type: ignore[misc]
        whole = median(lambda stored=stored: everything(stored))  # type: ignore[misc]
        times = (f"{seconds * 1000:.2f} ms" for seconds in (reading, storing, opening, whole))
        rows.append(
            (form, f"{len(data) / 1000:.0f} kB", len(document.blocks), *times, f"{len(stored) / 1000:.0f} kB")
        )
    header = ("format", "file", "blocks", "read", "store", "open stored", "and look at all", "stored")
    table("Our readers", header, rows)


def everything(stored: bytes) -> object:
    document = codec.load(stored)
    return list(document.blocks), list(document.tables)


def sandbox() -> None:
    """What a parsing process costs: to start, per document, in memory."""
    data = (GOLDEN / "console.png").read_bytes()
    started = time.perf_counter()
    with Parsers() as parsers:
        parsers.warm()
        start = time.perf_counter() - started
        there = median(lambda: parsers.parse(data, "x.png"), 20, time.perf_counter)
        here = median(lambda: parse(data, "x.png"), 20, time.perf_counter)
        parsers.parse(sheet_xlsx(), "x.xlsx")
        parsers.parse(report_pdf(), "x.pdf")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    cost = (there - here) * 1000
    print(f"\nparsing process: start {start:.2f} s, per document {cost:.2f} ms, peak {peak:.0f} MB")


if __name__ == "__main__":
    main()
