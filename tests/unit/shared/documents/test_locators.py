"""Locators as citations."""

from __future__ import annotations

import pytest

from shared.documents.locators import NOWHERE, TAKES, Locator
from shared.documents.registry import format_of
from shared.models import Source


@pytest.mark.parametrize(
    ("locator", "source"),
    [
        (Locator(page=2), Source(path="/f", page=2)),
        (Locator(record="TOK-1"), Source(path="/f", record="TOK-1")),
        (Locator(sheet="S", row=57, record="TOK-1"), Source(path="/f", sheet="S", row=57)),
        (Locator(paragraph=4), Source(path="/f", paragraph=4)),
        (Locator(line=412), Source(path="/f", line=412)),
        (NOWHERE, Source(path="/f")),
    ],
)
def test_a_locator_is_cited_in_the_words_of_its_format(locator: Locator, source: Source) -> None:
    assert locator.source("/f") == source


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("/a/b.PDF", "pdf"), ("x.jpeg", "jpg"), ("x.tsv", "csv"), ("x.ndjson", "jsonl"), ("x.log", "txt"),
        ("/.hidden", "opaque"), ("Makefile", "opaque"), ("x.exe", "opaque"),
    ],
)  # fmt: skip
def test_the_extension_decides_on_the_format(name: str, form: str) -> None:
    assert format_of(name) == form
    assert form in TAKES
