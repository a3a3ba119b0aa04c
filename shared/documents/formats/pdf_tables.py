"""Tables in a PDF that are drawn with lines: cells are the fields between crossing rules.

A table without rules is left to the text, where its rows are lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_float
from itertools import pairwise
from typing import NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

from shared.documents.document import Table
from shared.documents.formats import columns
from shared.documents.locators import Locator

MAX_EDGES = 5_000
MAX_RULES = 400
"""Per page, before and after edges on one line are put together; a page with more is a drawing."""
MAX_CELLS = 5_000
_NEAR = 3.0
"""Points within which two rules are the same, or touch."""


class _Rule(NamedTuple):
    """A horizontal or vertical line: its place across its direction, and from where to where it runs."""

    at: float
    start: float
    end: float


def find(page: pdfium.PdfPage, textpage: pdfium.PdfTextPage, number: int) -> list[Table]:
    """The ruled tables of an upright page, from top to bottom; each row is cited by the page."""
    horizontal, vertical = _rules(page)
    if len(horizontal) < 3 or len(vertical) < 3:
        return []
    tables: list[Table] = []
    for xs, ys in _grids(horizontal, vertical):
        rows = [
            [_cell_text(textpage, left, bottom, right, top) for left, right in pairwise(xs)]
            for top, bottom in pairwise(ys)
        ]
        rows = [row for row in rows if any(row)]
        if len(rows) > 1:
            tables.append(
                Table(
                    name=f"page {number} table {len(tables) + 1}",
                    columns=columns.names(rows[0]),
                    values=columns.transpose(rows[1:], len(rows[0])),
                    locators=[Locator(page=number)] * (len(rows) - 1),
                )
            )
    return tables


def _cell_text(textpage: pdfium.PdfTextPage, left: float, bottom: float, right: float, top: float) -> str:
    return " ".join(str(textpage.get_text_bounded(left, bottom, right, top)).split())


def _rules(page: pdfium.PdfPage) -> tuple[list[_Rule], list[_Rule]]:
    """The horizontal and the vertical rules among the paths of a page: lines, thin boxes, edges of boxes."""
    horizontal: list[_Rule] = []
    vertical: list[_Rule] = []
    for path in page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH], max_depth=2):
        for (x0, y0), (x1, y1) in _edges(path):
            if abs(y1 - y0) < _NEAR <= abs(x1 - x0):
                horizontal.append(_Rule((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
            elif abs(x1 - x0) < _NEAR <= abs(y1 - y0):
                vertical.append(_Rule((x0 + x1) / 2, min(y0, y1), max(y0, y1)))
        if len(horizontal) + len(vertical) > MAX_EDGES:
            return [], []
    horizontal, vertical = _joined(horizontal), _joined(vertical)
    return (horizontal, vertical) if len(horizontal) + len(vertical) <= MAX_RULES else ([], [])


def _joined(rules: Sequence[_Rule]) -> list[_Rule]:
    """The rules with those put together that lie on one line and touch: many writers draw cell by cell."""
    places = _merged(rule.at for rule in rules)
    lines: dict[float, list[_Rule]] = {}
    for rule in rules:
        lines.setdefault(places[bisect_right(places, rule.at) - 1], []).append(rule)
    result: list[_Rule] = []
    for at, parts in lines.items():
        start, end = None, 0.0
        for part in sorted(parts, key=lambda part: part.start):
            if start is None or part.start > end + _NEAR:
                if start is not None:
                    result.append(_Rule(at, start, end))
                start, end = part.start, part.end
            end = max(end, part.end)
        if start is not None:
            result.append(_Rule(at, start, end))
    return result


def _edges(path: pdfium.PdfObject) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """The straight edges of a path, on the page."""
    matrix = path.get_matrix()
    x, y = c_float(), c_float()
    first = last = (0.0, 0.0)
    for index in range(min(raw.FPDFPath_CountSegments(path.raw), MAX_EDGES)):
        segment = raw.FPDFPath_GetPathSegment(path.raw, index)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            first = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield last, point
        last = point
        if raw.FPDFPathSegment_GetClose(segment):
            yield point, first
            last = first


def _grids(
    horizontal: Sequence[_Rule], vertical: Sequence[_Rule]
) -> Iterator[tuple[list[float], list[float]]]:
    """The grids that crossing rules make: where their columns part from left on, their rows from the top."""
    free = set(range(len(vertical)))
    rows_left = set(range(len(horizontal)))
    grids: list[tuple[list[float], list[float]]] = []
    while free and rows_left:
        columns_of, rows_of = {free.pop()}, set[int]()
        while True:
            new_rows = {r for r in rows_left if any(_cross(horizontal[r], vertical[c]) for c in columns_of)}
            rows_left -= new_rows
            new_columns = {c for c in free if any(_cross(horizontal[r], vertical[c]) for r in new_rows)}
            free -= new_columns
            rows_of |= new_rows
            if not new_columns:
                break
            columns_of |= new_columns
        xs = _merged(vertical[c].at for c in columns_of)
        ys = _merged(horizontal[r].at for r in rows_of)[::-1]
        if len(xs) > 2 and len(ys) > 2 and len(xs) * len(ys) <= MAX_CELLS:
            grids.append((xs, ys))
    yield from sorted(grids, key=lambda grid: (-grid[1][0], grid[0][0]))


def _cross(horizontal: _Rule, vertical: _Rule) -> bool:
    return (
        horizontal.start - _NEAR <= vertical.at <= horizontal.end + _NEAR
        and vertical.start - _NEAR <= horizontal.at <= vertical.end + _NEAR
    )


def _merged(values: Iterable[float]) -> list[float]:
    """The values in ascending order, those near each other once."""
    result: list[float] = []
    for value in sorted(values):
        if not result or value - result[-1] > _NEAR:
            result.append(value)
    return result
