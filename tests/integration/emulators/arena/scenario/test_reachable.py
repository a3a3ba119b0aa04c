"""Every expected source exists at its locator, for readers that share no code with the product."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path

import pytest
import python_calamine
from PIL import Image

from emulators.arena.scenario import Scenario
from emulators.arena.scenario.themes import THEMES
from shared.models import Source
from tests.integration.emulators.arena.scenario.independent import raw
from tests.support.scenarios import build

EACH_THEME = pytest.mark.parametrize("theme", sorted(THEMES))


def places(scenario: Scenario) -> dict[Source, bytes]:
    """All citations that earn credit, alternatives too, with the bytes of their files."""
    return {
        source: scenario.blobs[task.files[source.path]]
        for task in scenario.tasks
        for primary, others in zip(task.expected_sources, task.alternatives, strict=True)
        for source in (primary, *others)
    }


def exists(source: Source, data: bytes) -> bool:
    """Whether the raw file has something at the locator."""
    if source.page is not None:
        return bool(raw.pages(data)[source.page - 1].strip())
    if source.paragraph is not None:
        return bool(raw.paragraphs(source.path, data)[source.paragraph - 1])
    if source.line is not None:
        return bool(raw.lines(data)[source.line - 1])
    if source.sheet is not None and source.row is not None:
        return source.row in raw.sheets(source.path, data)[source.sheet]
    if source.record is not None:
        if source.path.endswith((".xlsx", ".ods")):
            rows = (row for sheet in raw.sheets(source.path, data).values() for row in sheet.values())
            return sum(row[0] == source.record for row in rows) == 1
        return sum(row["id"] == source.record for row in raw.records(source.path, data)) == 1
    Image.open(io.BytesIO(data)).verify()
    return True


@EACH_THEME
def test_raw_readers_reach_every_source(theme: str) -> None:
    for variation in range(3):
        found = places(build(theme, 6, variation))
        assert len(found) > 60
        assert [source for source, data in found.items() if not exists(source, data)] == []


@EACH_THEME
def test_every_task_holds_the_files_that_it_is_to_cite(theme: str) -> None:
    for task in build(theme, 6, 1).tasks:
        assert {source.path for source in task.expected_sources} <= set(task.files)


@pytest.mark.optin
@EACH_THEME
def test_poppler_reaches_every_page(theme: str, tmp_path: Path) -> None:
    assert shutil.which("pdftotext"), "install poppler-utils for this test"
    for source, data in places(build(theme, 6, 1)).items():
        if source.page is not None:
            file = tmp_path / "page.pdf"
            file.write_bytes(data)
            page = str(source.page)
            command = ["pdftotext", "-f", page, "-l", page, str(file), "-"]
            text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
            lines = raw.pages(data)[source.page - 1].splitlines()
            assert [line for line in lines if "".join(line.split()) not in "".join(text.split())] == []


@pytest.mark.optin
@EACH_THEME
def test_libreoffice_reaches_every_paragraph_and_row(theme: str, tmp_path: Path) -> None:
    assert shutil.which("soffice"), "install libreoffice-writer and libreoffice-calc for this test"
    scenario = build(theme, 6, 1)
    for source, data in places(scenario).items():
        file = tmp_path / f"file{Path(source.path).suffix}"
        if source.paragraph is not None:
            file.write_bytes(data)
            text = _converted(file, "txt:Text").decode("utf-8-sig")
            assert raw.paragraphs(source.path, data)[source.paragraph - 1] in text
        elif source.sheet is not None and source.row is not None:
            file.write_bytes(data)
            other = "ods" if source.path.endswith(".xlsx") else "xlsx"
            book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(_converted(file, other)))
            again = book.get_sheet_by_name(source.sheet).to_python(skip_empty_area=False)[source.row - 1]
            ours = raw.sheets(source.path, data)[source.sheet][source.row]
            assert again[: len(ours)] == ours


def _converted(file: Path, kind: str) -> bytes:
    folder = file.parent / "out"
    command = [
        "soffice",
        f"-env:UserInstallation=file://{file.parent}/profile",
        "--headless",
        "--convert-to",
        kind,
    ]
    subprocess.run(
        [*command, "--outdir", str(folder), str(file)], capture_output=True, check=True, timeout=120
    )
    return (folder / f"{file.stem}.{kind.partition(':')[0]}").read_bytes()
