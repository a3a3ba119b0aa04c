"""`scrimmage new-solver`."""

import subprocess
import sys

import pytest

from producer.cli.new_solver import new_solver
from shared.errors import UsageError
from tests.support.supervised import ROOT


def test_the_skeleton_s_test_passes(tmp_path):
    new_solver("night_owl", tmp_path)
    assert "class NightOwl" in (tmp_path / "night_owl.py").read_text()
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(tmp_path)]
    environment = {"PYTHONPATH": f"{ROOT}:{tmp_path}"}
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_what_exists_is_not_overwritten(tmp_path):
    (tmp_path / "test_mine.py").write_text("mine")
    with pytest.raises(UsageError, match=r"test_mine\.py exists"):
        new_solver("mine", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test_mine.py"]


@pytest.mark.parametrize("name", ["", "Mine", "a-b", "../x", "class", "1st"])
def test_a_name_that_no_module_can_have_is_refused(name, tmp_path):
    with pytest.raises(UsageError, match="no name of a module"):
        new_solver(name, tmp_path)
