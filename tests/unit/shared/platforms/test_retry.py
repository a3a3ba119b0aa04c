from __future__ import annotations

import math
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.platforms.answer import printable
from shared.platforms.retry import LONGEST_PAUSE, LONGEST_WAIT, back_off, http_date, retry_after

NOW = 1_790_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3.0),
        (" 3 ", 3.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-5", 0.0),
        ("86400", LONGEST_PAUSE),
        ("inf", LONGEST_PAUSE),
        ("nan", None),
        ("", None),
        ("soon", None),
        (formatdate(NOW + 7, usegmt=True), 7.0),
        (formatdate(NOW - 7, usegmt=True), 0.0),
        (formatdate(NOW + 7 * 86400, usegmt=True), LONGEST_PAUSE),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0),
    ],
)
def test_retry_after_is_read_in_both_forms(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}, NOW) == seconds


def test_without_retry_after_nothing_is_known() -> None:
    assert retry_after({}, NOW) is None


@given(st.text())
def test_no_header_breaks_the_reading(text: str) -> None:
    seconds = retry_after({"retry-after": text}, NOW)
    assert seconds is None or 0 <= seconds <= LONGEST_PAUSE
    moment = http_date(text)
    assert moment is None or math.isfinite(moment)


@given(st.integers(0, 100), st.floats(0, 1, exclude_max=True))
def test_back_off_is_bounded_and_at_least_half_of_its_step(attempt: int, chance: float) -> None:
    full = min(LONGEST_WAIT, 0.25 * 2**attempt)
    assert full / 2 <= back_off(attempt, lambda: chance) <= full


@given(st.text())
def test_what_is_shown_has_one_bounded_line_without_control_characters(text: str) -> None:
    shown = printable(text, 50)
    assert len(shown) <= 50
    assert shown.isprintable()
