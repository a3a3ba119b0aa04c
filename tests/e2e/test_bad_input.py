"""What a platform gets wrong: malformed answers and broken files cost no task."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emulators.arena.api import PREFIX
from emulators.arena.app import create_app
from emulators.arena.options import ArenaOptions
from emulators.arena.scenario.model import Scenario
from emulators.server import ThreadedServer
from tests.support.arena import tiny
from tests.support.command import Terminal


def bomb() -> bytes:
    """A spreadsheet of a few kilobytes that unpacks to hundreds of megabytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", b" " * 300 * 2**20)
    return packed.getvalue()


@functools.cache
def broken() -> dict[str, bytes]:
    return {
        "/reports/cut.pdf": b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog",
        "/reports/not-a-zip.docx": b"PK\x03\x04 and no more",
        "/reports/bomb.xlsx": bomb(),
    }


def with_broken_files(theme: str, seed: int, variation: int) -> Scenario:
    scenario = tiny(theme, seed, variation)
    shas = {path: hashlib.sha256(data).hexdigest() for path, data in broken().items()}
    return replace(
        scenario,
        blobs={**scenario.blobs, **{shas[path]: data for path, data in broken().items()}},
        tasks=tuple(replace(task, files={**task.files, **shas}) for task in scenario.tasks),
    )


def terminal_of(folder: Path, url: str) -> Terminal:
    return Terminal(
        folder,
        SCRIMMAGE_ARENA_URL=url + PREFIX,
        SCRIMMAGE_ARENA_KEY="arena_team_1",
        SCRIMMAGE_PROCESSES="1",
        SCRIMMAGE_SOLVERS="reading=tests.support.arena_solvers:Reading",
    )


@pytest.fixture
def malformed(tmp_path: Path) -> Path:
    """The first answer of each endpoint comes whole-looking but cut, or as an HTML page of a gateway."""
    reads = ("GET /runs/*/manifest", "GET /tools", "GET /runs/*/blobs/*", "GET /runs/*/tasks/*/workspace.zip")
    rules: list[dict[str, Any]] = [
        {"endpoint": read, "first": 1, "fault": "truncate", "length": "cut"} for read in reads
    ]
    rules.append({"endpoint": "POST /runs", "first": 1, "fault": "truncate", "length": "cut"})
    rules.append({"endpoint": "POST /runs/*/finish", "first": 1, "fault": "truncate", "length": "cut"})
    submit = {"endpoint": "POST /runs/*/tasks/*/submit", "first": 1, "per": "path", "when": "after"}
    rules.append({**submit, "fault": "status", "status": 502, "body": "html"})
    path = tmp_path / "faults.json"
    path.write_text(json.dumps({"seed": 1, "rules": rules}))
    return path


def test_malformed_answers_and_broken_files_cost_no_task(malformed: Path, tmp_path: Path) -> None:
    options = ArenaOptions.of({"limit": False, "faults": malformed})
    app = create_app(options, build=with_broken_files)
    with ThreadedServer(app) as arena:
        terminal = terminal_of(tmp_path / "person", arena.url)
        played = terminal.run("run", "--solver", "reading", "--json")
    assert played.code == 0, played.err
    (row,) = played.json["runs"]
    assert (row["status"], row["tasks_submitted"], row["failures"]) == ("finished", 3, [])
    faults = app.arena.report()["accounts"]["team-1"]["faults"]
    assert sum(faults.values()) >= 6, "each of them was met"
    folder = terminal.folder / "archive" / "arena" / row["run_id"]
    for line in (folder / "tasks.jsonl").read_text().splitlines():
        unreadable = json.loads(line)["solution"]["answer"]
        assert set(broken()) <= set(unreadable), "each says that it cannot be read"
        assert all(unreadable[path] for path in broken()), "and why"


def test_a_server_that_is_no_arena_is_named_and_opens_nothing(tmp_path: Path) -> None:
    async def web_page(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/html")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"<html>\x1b[2J[red]welcome</html>"})

    with ThreadedServer(web_page) as server:
        ended = terminal_of(tmp_path, server.url).run("run", "--solver", "reading")
    assert ended.code == 2
    assert f"{server.url}{PREFIX} answers, but not as an arena" in ended.err
    assert "malformed answer" in ended.err
    assert "is SCRIMMAGE_ARENA_URL right?" in ended.err
    assert "resume" not in ended.err
    assert "Traceback" not in ended.err
    assert "\x1b[2J" not in ended.err
