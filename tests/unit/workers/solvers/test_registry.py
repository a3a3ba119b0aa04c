"""Solvers by name."""

import sys

import pytest

from shared.errors import SettingsError, SolverFault
from shared.settings import Settings
from workers.solvers.registry import Solvers

SOURCE = """
built = []

class Mine:
    def __init__(self):
        built.append(self)
    def solve(self, task, context):
        raise AssertionError

class Broken:
    def __init__(self):
        raise OSError("no file")

class NoSolver:
    pass
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of a solver's author, importable under a name of its own."""
    name = f"authored_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    (tmp_path / f"{name}_slip.py").write_text("class Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def solvers(text):
    return Solvers(Settings.load(_env_file=None, solvers=text))


def test_a_solver_is_found_by_name_and_built_once(module):
    found = solvers(f"mine={module}:Mine")
    assert found.get("mine") is found.get("mine")
    assert len(sys.modules[module].built) == 1
    assert "mine" in found.names


def test_the_baseline_comes_by_entry_point():
    assert "baseline" in solvers("").names


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("no_such_module_at_all:Mine", SettingsError, "cannot import"),
        ("{module}:Missing", SettingsError, "cannot import"),
        ("{module}:NoSolver", SettingsError, "no method solve"),
        ("{module}:Broken", SolverFault, "OSError: no file"),
        ("{module}_slip:Mine", SolverFault, "importing .* raised SyntaxError: .*line 1"),
    ],
)
def test_a_solver_that_cannot_be_built_says_why(module, path, error, words):
    with pytest.raises(error, match=words):
        solvers(f"mine={path.format(module=module)}").get("mine")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(SettingsError, match=r"'nobody'.*known: .*baseline"):
        solvers("").get("nobody")


@pytest.mark.parametrize("text", ["mine", "mine=module", "=module:Class", "mine=:Class", "mine=module:"])
def test_a_malformed_setting_is_named(text):
    with pytest.raises(SettingsError, match="SCRIMMAGE_SOLVERS: expected name=module:Class"):
        solvers(text)


def test_a_fingerprint_follows_the_source_and_needs_no_import(module, tmp_path):
    text = f"mine={module}:Mine,lost=no_such_module_at_all:Mine"
    before = solvers(text).fingerprints()
    assert "lost" not in before
    assert module not in sys.modules
    assert solvers(text).fingerprints() == before
    (tmp_path / f"{module}.py").write_text(SOURCE + "\n# changed\n")
    assert solvers(text).fingerprints()["mine"] != before["mine"]


def test_a_fingerprint_of_a_package_follows_all_of_its_modules(tmp_path, monkeypatch):
    name = f"package_{tmp_path.name}".replace("-", "_")
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").write_text(f"from {name}.mine import Mine\n")
    (package / "mine.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    before = solvers(f"mine={name}:Mine").fingerprints()["mine"]
    (package / "mine.py").write_text(SOURCE + "\n# changed\n")
    assert solvers(f"mine={name}:Mine").fingerprints()["mine"] != before
