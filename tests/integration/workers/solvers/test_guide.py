"""The examples of docs/write-a-solver.md that use a model solve tasks."""

from __future__ import annotations

import importlib
import re
import sys
from contextlib import closing

import pytest

from tests.support.emulated import ModelHere
from tests.support.local_play import LocalPlay
from tests.support.scenarios import build
from tests.support.supervised import ROOT

EXAMPLES = [("looping", "Looping"), ("careful", "Careful")]


@pytest.fixture
def module(request, tmp_path, monkeypatch):
    """The block of the guide that says that it is this module, imported."""
    guide = (ROOT / "docs/write-a-solver.md").read_text()
    code = re.search(rf"```python\n# {request.param}\.py\n(.*?)```", guide, re.DOTALL)
    assert code is not None
    (tmp_path / f"{request.param}.py").write_text(code[1])
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module(request.param)
    sys.modules.pop(request.param, None)


@pytest.mark.parametrize(("module", "name"), EXAMPLES, indirect=["module"])
def test_the_guide_s_examples_with_a_model_solve_tasks(module, name, pool):
    with ModelHere(scenarios=("hub:3:22",)) as model:
        solver = getattr(module, name)()
        with closing(LocalPlay(pool, build("hub", 3, 22), solver, model.url)) as player:
            played = [player.play(task) for task in player.scenario.tasks[:3]]
    assert [task.score for task in played] == [1.0] * 3
