"""Locators: where in a file a text stands, in the words that citations use.

Harness Arena Task API v1, "Submitting": pdf → page; csv and json → record; xlsx and ods → sheet + row;
docx and odt → paragraph; text, markdown and jsonl → line; images → the path alone. Numbers are 1-based.
"""

from __future__ import annotations

from typing import NamedTuple

from shared.models import Source


class Locator(NamedTuple):
    """A place in a document; without any field it is the document as a whole.

    A row of a sheet has ``sheet`` and ``row``, and also ``record`` where its table's first column holds one
    (a sheet that was built from a csv may be cited by it).
    """

    page: int | None = None
    record: str | None = None
    sheet: str | None = None
    row: int | None = None
    paragraph: int | None = None
    line: int | None = None

    def source(self, path: str) -> Source:
        """The citation of this place in the file at ``path``; a sheet's row is cited by sheet and row."""
        if self.row is not None:
            return Source(path=path, sheet=self.sheet, row=self.row)
        return Source(
            path=path,
            page=self.page,
            record=self.record,
            sheet=self.sheet,
            paragraph=self.paragraph,
            line=self.line,
        )

    def __str__(self) -> str:
        """The place in words: ``sheet transfers, row 57``; empty for the document as a whole."""
        return ", ".join(f"{name} {value}" for name, value in self._asdict().items() if value is not None)


NOWHERE = Locator()
"""The document as a whole: cited by its path alone."""

TAKES: dict[str, tuple[str, ...]] = {
    "pdf": ("page",),
    "csv": ("record",),
    "json": ("record",),
    "xlsx": ("sheet", "row", "record"),
    "ods": ("sheet", "row", "record"),
    "docx": ("paragraph",),
    "odt": ("paragraph",),
    "txt": ("line",),
    "md": ("line",),
    "jsonl": ("line",),
    "png": (),
    "jpg": (),
    "opaque": (),
}
"""The fields that a citation of each format (``Document.format``) may have."""
