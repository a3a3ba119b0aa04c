"""The emulator against schemathesis, which makes requests out of its OpenAPI document and checks answers.

By name only: it takes half a minute and wants the command `schemathesis` on PATH (pip install schemathesis).
"""

import shutil
import subprocess

import pytest


@pytest.mark.optin
def test_schemathesis_finds_nothing(stage, tmp_path):
    command = shutil.which("schemathesis")
    assert command, "pip install schemathesis"
    arena = stage(limit=False)
    options = ["--header", "Authorization: Bearer arena_team_1", "--max-examples", "30", "--seed", "1"]
    ended = subprocess.run(
        [command, "run", f"{arena.server.url}/openapi.json", "--url", arena.base, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert ended.returncode == 0, ended.stdout[-4000:]
