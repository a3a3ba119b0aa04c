"""Numbers as an OOXML sheet shows them: what a format code makes of a number, and what kind it gives it.

Covers what office programs write by themselves: decimals, thousands, percent, currencies, dates, times,
durations, scientific notation, sections for negative numbers and zero. A code beyond that shows the plain
number: never a wrong text, at worst a less pretty one. ECMA-376 Part 1, 18.8.30 and 18.8.31.
"""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple

from shared.documents.document import Value

_TOKEN = re.compile(
    r"""(?P<quoted>"[^"]*"?)|(?P<escaped>\\.)|(?P<pad>[_*].)|(?P<bracket>\[[^\]]*\])"""
    r"""|(?P<ampm>AM/PM|A/P)|(?P<date>y+|m+|d+|h+|s+(?:\.0+)?)|(?P<number>[#0?][#0?,]*(?:\.[#0?]*)?|\.[#0?]+)"""
    r"""|(?P<exponent>E[+-]0+)|(?P<percent>%)|(?P<general>General)|(?P<other>.)""",
    re.IGNORECASE | re.DOTALL,
)
_CURRENCIES = {
    "€": "EUR",
    "$": "USD",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "₽": "RUB",
    "kr": "kr",
    "zł": "PLN",
}
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SECONDS_A_DAY = 86_400


class Shown(NamedTuple):
    """A number as a value with its kind and text; text None where it is the value's own."""

    value: Value
    kind: str | None
    text: str | None


class _Token(NamedTuple):
    kind: str
    text: str


class _Format(NamedTuple):
    sections: tuple[tuple[_Token, ...], ...]
    kind: str | None
    is_date: bool
    has_day: bool


def show(number: float, code: str, epoch: datetime) -> Shown:
    """What a cell holds and shows.

    Args:
        number: as stored.
        code: the cell's number format.
        epoch: day zero of the workbook: 1899-12-30, or 1904-01-01.
    """
    form = _format(code)
    if form.is_date:
        return _moment(number, form, epoch)
    section, magnitude = _section(form, number)
    text = _number(magnitude, section)
    return Shown(whole(number), form.kind, text)


def whole(number: float) -> int | float:
    """Whole numbers as such: writers store 3 as ``3``, ``3.0`` and ``3E0`` alike."""
    return int(number) if float(number).is_integer() and abs(number) < 1e15 else number


@lru_cache(maxsize=1024)
def _format(code: str) -> _Format:
    sections: list[list[_Token]] = [[]]
    for match in _TOKEN.finditer(code):
        kind, text = str(match.lastgroup), match.group()
        if kind == "other" and text == ";":
            sections.append([])
            continue
        if kind == "quoted":
            kind, text = "literal", text.strip('"')
        elif kind == "escaped":
            kind, text = "literal", text[1:]
        elif kind == "bracket" and text.startswith("[$"):
            kind, text = "currency", text[2:-1].partition("-")[0]
        elif kind == "bracket" and re.fullmatch(r"\[(h+|m+|s+)\]", text, re.IGNORECASE):
            kind, text = "elapsed", text[1:-1].lower()
        elif kind == "date":
            text = text.lower()
        if kind not in {"pad", "bracket"}:
            sections[-1].append(_Token(kind, text))
    first = sections[0]
    kinds = {token.kind for token in first}
    is_date = bool(kinds & {"date", "elapsed"}) and not kinds & {"general"}
    has_day = any(token.kind == "date" and token.text[0] in "yd" for token in first) or (
        is_date and not kinds & {"elapsed"} and not any(t.kind == "date" and t.text[0] in "hs" for t in first)
    )
    return _Format(tuple(map(tuple, sections)), None if is_date else _kind(first), is_date, has_day)


def _kind(tokens: list[_Token]) -> str | None:
    for token in tokens:
        if token.kind == "percent":
            return "percentage"
        if token.kind == "currency" and token.text:
            return f"currency {_CURRENCIES.get(token.text, token.text)}"
        if token.kind in {"literal", "other"} and token.text.strip() in _CURRENCIES:
            return f"currency {_CURRENCIES[token.text.strip()]}"
    return None


def _section(form: _Format, number: float) -> tuple[tuple[_Token, ...], float]:
    """The section of the code for this number, and the number as that section takes it."""
    if number < 0 and len(form.sections) > 1:
        return form.sections[1], -number
    if number == 0 and len(form.sections) > 2:
        return form.sections[2], number
    return form.sections[0], number


def _number(number: float, section: tuple[_Token, ...]) -> str | None:
    cores = [token.text for token in section if token.kind == "number"]
    if len(cores) > 1 or any(token.kind in {"general", "date", "elapsed"} for token in section):
        return None
    if any(token.kind == "other" and token.text in "/@" for token in section):
        return None
    if any(token.kind == "exponent" for token in section):
        decimals = len(cores[0].partition(".")[2]) if cores else 0
        return f"{number:.{decimals}E}"
    percents = sum(token.kind == "percent" for token in section)
    pieces: list[str] = []
    for token in section:
        pieces.append(_digits(abs(number), token.text, percents) if token.kind == "number" else token.text)
    return ("-" if number < 0 else "") + "".join(pieces).strip()


def _digits(number: float, core: str, percents: int) -> str:
    whole, point, fraction = core.partition(".")
    scaled = Decimal(repr(number)).scaleb(2 * percents - 3 * (len(whole) - len(whole.rstrip(","))))
    rounded = scaled.quantize(Decimal(1).scaleb(-len(fraction)), rounding=ROUND_HALF_UP)
    text = f"{rounded:,f}" if "," in whole.rstrip(",") else f"{rounded:f}"
    digits, _, decimals = text.partition(".")
    fixed = fraction.rfind("0") + 1
    decimals = decimals[:fixed] + decimals[fixed:].rstrip("0")
    digits = digits.rjust(whole.count("0"), "0")
    if digits == "0" and "0" not in whole:
        digits = ""
    return f"{digits}.{decimals}" if point else digits


def _moment(number: float, form: _Format, epoch: datetime) -> Shown:
    """A date, a time, both, or a duration."""
    try:
        span = timedelta(milliseconds=round(number * _SECONDS_A_DAY * 1000))
        leap = timedelta(days=epoch.year == 1899 and 0 < number < 60)  # the 1900 epoch has a 29 February 1900
        moment = epoch + span + leap
    except OverflowError:
        return Shown(number, None, None)
    section = form.sections[0]
    text = _date_text(moment, span, section)
    value: Value = moment
    if not form.has_day:
        is_time = timedelta() <= span < timedelta(days=1) and not any(t.kind == "elapsed" for t in section)
        value = moment.time() if is_time else span
    elif moment.time() == time():
        has_clock = any(token.kind == "date" and token.text[0] in "hs" for token in section)
        value = moment if has_clock else moment.date()
    return Shown(value, None, text)


def _date_text(moment: datetime, span: timedelta, section: tuple[_Token, ...]) -> str:
    twelve = any(token.kind == "ampm" for token in section)
    pieces: list[str] = []
    parts = [token for token in section if token.kind in {"date", "elapsed"}]
    for token in section:
        match token.kind:
            case "elapsed":
                unit = {"h": 3600, "m": 60, "s": 1}[token.text[0]]
                pieces.append(str(int(span.total_seconds() // unit)).rjust(len(token.text), "0"))
            case "date":
                pieces.append(_date_piece(moment, token.text, _is_minute(parts, token), twelve))
            case "ampm":
                pieces.append("PM" if moment.hour >= 12 else "AM")
            case _:
                pieces.append(token.text)
    return "".join(pieces).strip()


def _is_minute(parts: list[_Token], token: _Token) -> bool:
    """Whether an ``m`` means minutes: right after hours, or right before seconds."""
    at = next(index for index, part in enumerate(parts) if part is token)
    return (at > 0 and parts[at - 1].text[0] == "h") or (at + 1 < len(parts) and parts[at + 1].text[0] == "s")


def _date_piece(moment: datetime, pattern: str, is_minute: bool, twelve: bool) -> str:
    length = len(pattern)
    match pattern[0]:
        case "y":
            return f"{moment.year:04}" if length > 2 else f"{moment.year % 100:02}"
        case "m" if is_minute:
            return str(moment.minute).rjust(length, "0")
        case "m":
            name = _MONTHS[moment.month - 1]
            return {3: name[:3], 4: name, 5: name[0]}.get(length, str(moment.month).rjust(length, "0"))
        case "d":
            name = _DAYS[moment.weekday()]
            return {3: name[:3], 4: name}.get(length, str(moment.day).rjust(length, "0"))
        case "h":
            hour = (moment.hour + 11) % 12 + 1 if twelve else moment.hour
            return str(hour).rjust(length, "0")
        case _:
            whole, _, fraction = pattern.partition(".")
            text = str(moment.second).rjust(len(whole), "0")
            return text + (f".{moment.microsecond:06}"[: len(fraction) + 1] if fraction else "")
