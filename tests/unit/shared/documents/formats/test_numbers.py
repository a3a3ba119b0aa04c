"""Numbers as a sheet shows them, against what Excel and LibreOffice show."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import pytest

from shared.documents.document import Value
from shared.documents.formats.numbers import show

EPOCH_1900, EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)


@pytest.mark.parametrize(
    ("number", "code", "text", "kind"),
    [
        (1234.5, "0.00", "1234.50", None),
        (1234567.891, "#,##0.00", "1,234,567.89", None),
        (0.5, "#.##", ".5", None),
        (7, "000", "007", None),
        (1234567, "#,##0,", "1,235", None),
        (2.5, "0", "3", None),
        (-2.5, "0.0;(0.0)", "(2.5)", None),
        (0, '0;-0;"none"', "none", None),
        (0.1234, "0.0%", "12.3%", "percentage"),
        (1, "0%", "100%", "percentage"),
        (12.5, '"€"#,##0.00', "€12.50", "currency EUR"),
        (-12.5, "#,##0.00\\ [$CHF-807]", "-12.50 CHF", "currency CHF"),
        (12.5, "[$$-409]#,##0.00;[RED]-[$$-409]#,##0.00", "$12.50", "currency USD"),
        (12345.678, "0.00E+00", "1.23E+04", None),
        (5, '0 "items"', "5 items", None),
        (12.0, '_-* #,##0.00 "€"_-', "12.00 €", "currency EUR"),
    ],
)
def test_a_number_is_shown_by_its_format(number: float, code: str, text: str, kind: str | None) -> None:
    shown = show(number, code, EPOCH_1900)

    assert (shown.text, shown.kind) == (text, kind)
    assert shown.value == number


@pytest.mark.parametrize(
    ("number", "code", "value", "text"),
    [
        (46340, "yyyy-mm-dd", date(2026, 11, 14), "2026-11-14"),
        (46340.75, "d/m/yyyy h:mm AM/PM", datetime(2026, 11, 14, 18), "14/11/2026 6:00 PM"),
        (46340, "dd.mm.yyyy hh:mm", datetime(2026, 11, 14), "14.11.2026 00:00"),
        (46340, "dddd, d mmmm yy", date(2026, 11, 14), "Saturday, 14 November 26"),
        (0.5, "h:mm:ss", time(12), "12:00:00"),
        (0.000011574074, "mm:ss.0", time(0, 0, 1), "00:01.0"),
        (1.25, "[h]:mm", timedelta(hours=30), "30:00"),
        (0.25, "[h]:mm", timedelta(hours=6), "6:00"),
        (1, "yyyy-mm-dd", date(1900, 1, 1), "1900-01-01"),
        (59, "yyyy-mm-dd", date(1900, 2, 28), "1900-02-28"),
        (61, "yyyy-mm-dd", date(1900, 3, 1), "1900-03-01"),
        (45000.999999999, "yyyy-mm-dd hh:mm:ss", datetime(2023, 3, 16), "2023-03-16 00:00:00"),
    ],
)
def test_a_date_or_time_is_typed_and_shown(number: float, code: str, value: Value, text: str) -> None:
    shown = show(number, code, EPOCH_1900)

    assert (type(shown.value), shown.value) == (type(value), value)
    assert shown.text == text


def test_days_count_from_the_workbook_s_epoch() -> None:
    assert show(0, "yyyy-mm-dd", EPOCH_1904).value == date(1904, 1, 1)
    assert show(44878, "yyyy-mm-dd", EPOCH_1904).value == date(2026, 11, 14)


@pytest.mark.parametrize("code", ["# ?/?", "000-00-0000", "General", "@"])
def test_a_format_beyond_ours_shows_the_plain_number(code: str) -> None:
    assert show(1.5, code, EPOCH_1900) == (1.5, None, None)


def test_a_day_beyond_the_calendar_stays_a_number() -> None:
    assert show(1e12, "yyyy-mm-dd", EPOCH_1900) == (1e12, None, None)
