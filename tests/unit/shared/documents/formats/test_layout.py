"""Which cells of a sheet are a table."""

from __future__ import annotations

import pytest

from shared.documents.document import Value
from shared.documents.formats.grid import Area, Sheet, address
from shared.documents.formats.layout import find


def sheet(*rows: str) -> Sheet:
    """A sheet drawn as text: cells apart by ``|``, numbers as numbers, blanks as nothing."""
    result = Sheet("S")
    for number, row in enumerate(rows, start=1):
        cells: dict[int, Value] = {}
        for column, text in enumerate(row.split("|"), start=1):
            if text.strip():
                cells[column] = int(text) if text.strip().isdigit() else text.strip()
        if cells:
            result.rows[number] = cells
    return result


def places(*rows: str) -> list[tuple[int, int, int | None, list[int]]]:
    return [(place.left, place.right, place.header, place.rows) for place in find(sheet(*rows))]


def test_a_header_below_titles_is_found() -> None:
    assert places("Report", "draft", "", "id | n", "A-1 | 1") == [(1, 2, 4, [5])]
    assert places("Report", "id | n", "A-1 | 1") == [(1, 2, 2, [3])]


def test_a_row_of_groups_above_the_header_is_no_header() -> None:
    assert places(" | Q1 | | Q2", "id | in | out | in", "A-1 | 1 | 2 | 3") == [(1, 4, 2, [3])]


def test_an_empty_row_within_a_table_does_not_end_it() -> None:
    assert places("id | n", "A-1 | 1", "", "A-2 | 2") == [(1, 2, 1, [2, 4])]
    assert places("id | name", "A-1 | x", "", "A-2 | y") == [(1, 2, 1, [2, 4])]


@pytest.mark.parametrize("second", ["host | up", "id | n"])
def test_a_second_header_starts_a_second_table(second: str) -> None:
    assert places("id | n", "A-1 | 1", "", second, "h-1 | 2") == [(1, 2, 1, [2]), (1, 2, 4, [5])]


def test_a_repeated_header_starts_a_table_even_among_texts() -> None:
    assert places("id | of", "a | b", "", "id | of", "c | d") == [(1, 2, 1, [2]), (1, 2, 4, [5])]


def test_tables_beside_each_other_are_two() -> None:
    assert places("id | n | | host | up", "A | 1 | | h | 1") == [(1, 2, 1, [2]), (4, 5, 1, [2])]


def test_a_lone_column_beside_a_table_belongs_to_it() -> None:
    assert places("id | n | | remark", "A | 1 | | late") == [(1, 4, 1, [2])]


def test_numbers_alone_are_a_table_without_a_header() -> None:
    assert places("1 | 2", "3 | 4") == [(1, 2, None, [1, 2])]


def test_a_single_column_is_a_table_only_on_its_own() -> None:
    assert places("domain", "a.test", "b.test") == [(1, 1, 1, [2, 3])]
    assert places("Title", "subtitle", "", "id | n", "A | 1") == [(1, 2, 4, [5])]


def test_a_declared_table_is_taken_as_declared() -> None:
    drawn = sheet("k | v", "x | 1", "total | 1")
    drawn.declared.append(Area(1, 1, 2, 2))

    assert [(place.header, place.rows) for place in find(drawn)] == [(1, [2])]


@pytest.mark.parametrize(
    ("row", "column", "name"), [(2, 1, "A2"), (1, 26, "Z1"), (9, 28, "AB9"), (1, 703, "AAA1")]
)
def test_cells_are_named_as_sheets_name_them(row: int, column: int, name: str) -> None:
    assert address(row, column) == name
