"""Notes on what was opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from producer.notebook import Note, Notebook
from shared.errors import SettingsError
from shared.models import RunRef, RunRequest

REF = RunRef(platform="arena", run_id="run_1")


def note(number: int, **values: object) -> Note:
    return Note.model_validate(
        {"request_id": f"req-{number}", "request": RunRequest(), "at": number, **values}
    )


def test_a_note_is_completed_found_by_its_run_and_forgotten(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path)
    assert notebook.notes() == []
    notebook.write(note(2))
    notebook.write(note(1))
    notebook.write(note(2, ref=REF, facts={"team": "Team 1"}))
    assert notebook.notes() == [note(1), note(2, ref=REF, facts={"team": "Team 1"})]
    assert notebook.of(REF) == note(2, ref=REF, facts={"team": "Team 1"})
    notebook.forget("req-2")
    notebook.forget("req-2")
    assert notebook.of(REF) is None
    assert notebook.notes() == [note(1)]


def test_a_damaged_note_hides_no_other(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path)
    notebook.write(note(1))
    (tmp_path / "opened" / "req-9.json").write_text('{"request_id":')
    assert notebook.notes() == [note(1)]


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_opened(tmp_path: Path) -> None:
    (tmp_path / "opened").write_text("a file")
    with pytest.raises(SettingsError, match="SCRIMMAGE_DATA"):
        Notebook(tmp_path).write(note(1))
