"""Moments as logs write them: ISO text, epoch numbers, local times whose offset stands elsewhere.

Every moment becomes microseconds since the epoch, UTC. Text without an offset is *local*: it becomes a
moment only together with the zone of its file (``shared.documents.log_zones``).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_YEARS = (datetime(1990, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
_UNITS = ((1e11, 1_000_000.0), (1e14, 1_000.0), (1e17, 1.0), (1e20, 0.001))

_NAMED_OFFSETS = {
    "UTC": 0,
    "GMT": 0,
    "Z": 0,
    "WET": 0,
    "CET": 60,
    "CEST": 120,
    "EET": 120,
    "EEST": 180,
    "MSK": 180,
    "JST": 540,
    "EST": -300,
    "EDT": -240,
    "PST": -480,
    "PDT": -420,
}
_PATTERNS = (
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d/%b/%Y:%H:%M:%S %z",
    "%d %b %Y %H:%M:%S",
    "%b %d, %Y %H:%M:%S",
)
_TRAILING_NAME = re.compile(r"^(.*\d)\s*([A-Z]{1,4})$")
_TRAILING_OFFSET = re.compile(r"^(.*\d)\s+(?:UTC|GMT)?([+-]\d{2}:?\d{2})$")
_OFFSET = re.compile(
    r"(?:\b(?:UTC|GMT)\s*([+\-−–±])\s*(\d{1,2})(?:[:.h]?([0-5]\d))?(?!\d))"
    r"|(?:(?<![\d:T])([+\-−])(\d{2}):?([0-5]\d)(?!\d))"
)
_REGION = re.compile(
    r"\b((?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)"
    r"/[A-Za-z_]+(?:[/+\-][A-Za-z0-9_]+)*)"
)
_ABBREVIATION = re.compile(r"\b(CES?T|EES?T|WET|MSK|JST|E[SD]T|P[SD]T)\b")


def parse_time(value: object) -> datetime | None:
    """A moment written as text or epoch number (seconds to nanoseconds, told by magnitude).

    Returns:
        An aware datetime where the value names its offset (numbers are UTC), a naive one where it does
        not, None where the value is no moment at all.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _from_number(value)
    if not isinstance(value, str) or not 8 <= len(value) <= 64:
        return None
    text = value.strip()
    try:
        return datetime.fromisoformat(text) if not text.isdigit() else _from_number(int(text))
    except ValueError:
        return _from_text(text)


def micros(moment: datetime, zone: tzinfo = UTC) -> int:
    """Microseconds since the epoch; ``zone`` is used where the moment has none of its own."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return (moment - _EPOCH) // _MICROSECOND


def utc_text(moment: int) -> str:
    """Microseconds since the epoch as ISO text in UTC, with a fraction only where there is one."""
    return (_EPOCH + timedelta(microseconds=moment)).replace(tzinfo=None).isoformat() + "Z"


def find_zone(text: str) -> tzinfo | None:
    """The first time zone that a text names: ``Europe/Oslo``, ``UTC+05:30``, ``+0200``, ``CET``.

    A bare ``UTC`` names none unless it is the whole text: it mostly says what other times are in.
    """
    if text.strip().upper() in {"UTC", "GMT", "Z"}:
        return UTC
    if region := _REGION.search(text):
        try:
            return ZoneInfo(region[1])
        except (KeyError, ValueError, OSError):  # no such zone, or no zone data on this machine
            pass
    if offset := _OFFSET.search(text):
        sign, hours, minutes = (offset[1] or offset[4], offset[2] or offset[5], offset[3] or offset[6] or 0)
        size = timedelta(hours=int(hours), minutes=int(minutes))
        if size <= timedelta(hours=14):
            return timezone(-size if sign in "-−–" else size)
    if name := _ABBREVIATION.search(text):
        return timezone(timedelta(minutes=_NAMED_OFFSETS[name[1]]))
    return None


def _from_number(value: float) -> datetime | None:
    for bound, scale in _UNITS:
        if abs(value) < bound:
            try:
                moment = _EPOCH + timedelta(microseconds=int(value * scale))
            except (OverflowError, ValueError):
                return None
            return moment if _YEARS[0] <= moment < _YEARS[1] else None
    return None


def _from_text(text: str) -> datetime | None:
    if (found := _TRAILING_OFFSET.match(text)) and (moment := _joined(found[1], found[2])):
        return moment
    if (found := _TRAILING_NAME.match(text)) and found[2] in _NAMED_OFFSETS:
        moment = parse_time(found[1])
        zone = timezone(timedelta(minutes=_NAMED_OFFSETS[found[2]]))
        return moment.replace(tzinfo=zone) if moment and moment.tzinfo is None else moment
    for pattern in _PATTERNS:
        try:
            return datetime.strptime(text, pattern)
        except ValueError:
            continue
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None


def _joined(local: str, offset: str) -> datetime | None:
    try:
        return datetime.fromisoformat(local.strip() + offset)
    except ValueError:
        return None
