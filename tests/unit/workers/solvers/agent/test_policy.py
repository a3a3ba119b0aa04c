"""How much effort a task gets: by level, and as this machine's settings change it."""

import pytest

from shared.errors import SettingsError
from shared.settings import Settings
from workers.solvers.agent.policy import Policy
from workers.solvers.registry import Solvers


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """A working folder without anybody's ``.env``."""
    monkeypatch.chdir(tmp_path)


def test_a_level_that_is_not_named_gets_the_effort_of_the_nearest_lower_one():
    policy = Policy(repairs={1: 1, 3: 4})
    assert [policy.effort(level).repairs for level in (0, 1, 2, 3, 9, None)] == [1, 1, 1, 4, 4, 4]


def test_a_variable_changes_it(monkeypatch):
    monkeypatch.setenv("SCRIMMAGE_AGENT_REPAIRS", '{"1": 0, "3": 3}')
    assert Policy.load().repairs == {1: 0, 3: 3}


def test_so_does_a_line_of_env_among_others(tmp_path):
    (tmp_path / ".env").write_text("SCRIMMAGE_MODEL=m\nSCRIMMAGE_AGENT_PLAN_TOKENS=300\n")
    assert Policy.load().plan_tokens == 300


def test_an_empty_variable_is_an_unset_one(monkeypatch):
    monkeypatch.setenv("SCRIMMAGE_AGENT_REPAIRS", "")
    assert Policy.load() == Policy()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("REPAIRS", "2", "should be a valid dictionary"),
        ("REPAIRS", "many", 'must be a JSON object, level to value: {"1": 0, "3": 3}'),
        ("LOOP_USD", '{"1": -1}', "greater than or equal to 0"),
        ("PLAN_TOKENS", "few", "valid integer"),
    ],
)
def test_a_wrong_variable_is_a_wrong_setting_of_the_machine_and_no_fault_of_the_solver(
    monkeypatch, name, value, problem
):
    monkeypatch.setenv(f"SCRIMMAGE_AGENT_{name}", value)
    with pytest.raises(SettingsError) as caught:
        Solvers(Settings.load()).get("agent")
    assert str(caught.value).startswith(f"SCRIMMAGE_AGENT_{name}: ")
    assert problem in str(caught.value)
