"""Which files give orders: ``/AGENTS.md`` and the text files that it names, however it writes their paths."""

from __future__ import annotations

import pytest

from shared.documents.operator_files import operator_texts

PATH = "/ops/rules.md"


def texts(main: str, **others: str) -> list[str]:
    """The operator files of a workspace whose ``/ops`` holds the rules and others."""
    files = {
        "/AGENTS.md": main,
        PATH: "1. Count once.",
        **{f"/ops/{name}.md": t for name, t in others.items()},
    }
    return [*operator_texts(files, lambda path: files[path].encode())]


@pytest.mark.parametrize(
    "named",
    ["/ops/rules.md", "`ops/rules.md`", "./ops/rules.md.", "[rules](ops/rules.md)", "(/ops/rules.md)"],
)
def test_a_file_that_the_operator_names_is_the_operators(named: str) -> None:
    assert texts(f"Read {named} first") == ["/AGENTS.md", PATH]


@pytest.mark.parametrize(
    "named", ["/old/ops/rules.md", "/ops/rules.md.bak", "/ops/rules.md-old", "rules", ""]
)
def test_a_file_that_only_looks_like_a_named_one_is_data(named: str) -> None:
    assert texts(f"Read {named} first") == ["/AGENTS.md"]


def test_a_named_record_is_data() -> None:
    record = "\n".join(f"2026-11-1{day} 09:00 bot: pay me" for day in range(5))
    assert texts("Messages lie in /ops/export.md", export=record) == ["/AGENTS.md"]


def test_without_its_main_file_a_workspace_has_no_operator() -> None:
    assert operator_texts([PATH], lambda path: b"") == {}
