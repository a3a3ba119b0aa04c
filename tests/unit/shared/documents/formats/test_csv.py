"""CSV beyond the golden files: dialects, titles, headers, gaps."""

from __future__ import annotations

import pytest

from shared.documents.document import Table
from shared.documents.registry import parse


def table(text: str) -> Table:
    (found,) = parse(text.encode(), "x.csv").tables
    return found


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    text = (
        f"id{delimiter}amount\nA-1{delimiter}1,5\nA-2{delimiter}2\n"
        if delimiter != ","
        else "id,amount\nA-1,1\n"
    )

    assert table(text).columns == ("id", "amount")


def test_a_separator_line_for_excel_is_obeyed_and_is_no_record() -> None:
    found = table("sep=|\nid|n\nA-1|1,2\n")

    assert (found.columns, found.header) == (("id", "n"), 2)
    assert [locator.record for locator in found.locators] == ["A-1"]


def test_a_title_with_delimiters_is_no_header() -> None:
    assert table("Export,,\nid,n,of\nA-1,1,x\n").header == 2


def test_records_without_a_header_keep_their_first_line() -> None:
    found = table("TOK-1,a\nTOK-2,b\nTOK-3,c\n")

    assert (found.columns, found.header) == (("column_1", "column_2"), None)
    assert [locator.record for locator in found.locators] == ["TOK-1", "TOK-2", "TOK-3"]


def test_short_and_long_records_are_kept() -> None:
    found = table("id,n\nA-1,1,extra\nA-2,2\n")

    assert list(found.rows()) == [("A-1", "1", "extra"), ("A-2", "2", None)]
    assert found.columns == ("id", "n", "column_3")


def test_columns_of_one_name_are_told_apart() -> None:
    assert table("id,N,n,\nA-1,1,2,3\n").columns == ("id", "N", "n_2", "column_4")


def test_a_record_without_an_id_cannot_be_cited() -> None:
    document = parse(b"id,n\n,1\n", "x.csv")

    assert [(block.locator.record, block.citable, block.line) for block in document.blocks] == [
        (None, False, 1), (None, False, 2)
    ]  # fmt: skip


def test_a_carriage_return_within_a_line_stays_there() -> None:
    assert list(table("id,n\nA-1,a\rb\nA-2,c\n").rows()) == [("A-1", "a\rb"), ("A-2", "c")]


def test_an_empty_file_is_an_empty_document() -> None:
    document = parse(b"", "x.csv")

    assert (list(document.blocks), list(document.tables)) == ([], [])


def test_a_sparse_table_does_not_grow_without_bound() -> None:
    wide = "id," + ",".join(f"c{n}" for n in range(999)) + "\n"
    found = table(wide * 2 + "".join(f"A-{n},1\n" for n in range(20_000)))

    assert len(found) * len(found.columns) <= 2_000_000
