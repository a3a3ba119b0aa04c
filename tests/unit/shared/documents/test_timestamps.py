"""Moments as logs write them, each with the expected UTC time beside it."""

from __future__ import annotations

from datetime import timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from shared.documents.timestamps import find_zone, micros, parse_time, utc_text


@pytest.mark.parametrize(
    ("written", "utc"),
    [
        ("2026-11-14T03:22:11Z", "2026-11-14T03:22:11Z"),
        ("2026-11-14T03:22:11.250Z", "2026-11-14T03:22:11.250000Z"),
        ("2026-11-14T05:22:11+02:00", "2026-11-14T03:22:11Z"),
        ("2026-11-14 05:22:11 +0200", "2026-11-14T03:22:11Z"),
        ("2026-11-14 05:22:11 UTC+02:00", "2026-11-14T03:22:11Z"),
        ("2026-11-14 04:22:11 CET", "2026-11-14T03:22:11Z"),
        ("2026-11-14 03:22:11 UTC", "2026-11-14T03:22:11Z"),
        ("14/Nov/2026:03:22:11 +0000", "2026-11-14T03:22:11Z"),
        ("Sat, 14 Nov 2026 03:22:11 GMT", "2026-11-14T03:22:11Z"),
        (1794626531, "2026-11-14T03:22:11Z"),
        (1794626531250, "2026-11-14T03:22:11.250000Z"),
        (1794626531.5, "2026-11-14T03:22:11.500000Z"),
        ("1794626531", "2026-11-14T03:22:11Z"),
        (1794626531000000, "2026-11-14T03:22:11Z"),
        (1794626531000000000, "2026-11-14T03:22:11Z"),
    ],
)
def test_a_moment_with_an_offset_becomes_utc(written: object, utc: str) -> None:
    moment = parse_time(written)
    assert moment is not None
    assert moment.tzinfo is not None
    assert utc_text(micros(moment)) == utc


@pytest.mark.parametrize(
    "written", ["2026-11-14 03:22:11", "2026/11/14 03:22:11", "14.11.2026 03:22:11", "Nov 14, 2026 03:22:11"]
)
def test_a_moment_without_an_offset_stays_local_until_its_zone_is_known(written: str) -> None:
    moment = parse_time(written)
    assert moment is not None
    assert moment.tzinfo is None
    assert utc_text(micros(moment, timezone(timedelta(hours=-5)))) == "2026-11-14T08:22:11Z"


@pytest.mark.parametrize(
    "written", [None, True, "", "soon", "agent-07", "12", 7, 1e30, "2026-13-40T00:00:00Z", {}]
)
def test_what_is_no_moment_is_none(written: object) -> None:
    assert parse_time(written) is None


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("The archive is in local time (UTC+09:00).", 540),
        ("times are UTC-3", -180),
        ("offset +0530, all year", 330),
        ("GMT+1", 60),
        ("Local time is CET (UTC+1), all year.", 60),
        ("local time is EST", -300),
        ("UTC", 0),
        ("UTC−03:30", -210),
    ],
)
def test_a_zone_is_found_in_prose(text: str, minutes: int) -> None:
    zone = find_zone(text)
    assert zone is not None
    assert zone.utcoffset(None) == timedelta(minutes=minutes)


@pytest.mark.parametrize("text", ["a day is a UTC day", "at 12:30", "2026-11-14", "UTC+99", "no zone here"])
def test_prose_without_a_zone_names_none(text: str) -> None:
    assert find_zone(text) is None


def test_a_region_knows_its_summer_time() -> None:
    zone = find_zone("kept in Europe/Oslo time")
    assert zone == ZoneInfo("Europe/Oslo")
    summer, winter = parse_time("2026-07-01 12:00:00"), parse_time("2026-12-01 12:00:00")
    assert summer is not None
    assert winter is not None
    assert utc_text(micros(summer, zone)) == "2026-07-01T10:00:00Z"
    assert utc_text(micros(winter, zone)) == "2026-12-01T11:00:00Z"
