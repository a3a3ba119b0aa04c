"""The first examples of docs/write-a-solver.md and README.md play runs."""

from __future__ import annotations

import re
import sys

import pytest

from shared.models import RunRequest, RunStatus
from shared.settings import Settings
from tests.support.emulated import ArenaHere
from tests.support.playing import finish_one, solve_one, state_of
from tests.support.supervised import ROOT
from workers.worker import Worker


@pytest.fixture(params=["docs/write-a-solver.md", "README.md"])
def example(request, tmp_path, monkeypatch):
    """The first block of Python of a text, as the module that the text's setting names."""
    text = (ROOT / request.param).read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    setting = re.search(r"SCRIMMAGE_SOLVERS=(\S+)", text)
    assert code is not None
    assert setting is not None
    module = setting[1].partition("=")[2].partition(":")[0]
    path = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
    path.parent.mkdir(exist_ok=True)
    path.write_text(code[1])
    monkeypatch.syspath_prepend(tmp_path)
    yield setting[1]
    sys.modules.pop(module, None)


def test_an_example_plays_a_run(example, redis_url):
    with ArenaHere(seed=1) as arena:
        settings = Settings.load(
            _env_file=None, redis_url=redis_url, arena_url=arena.url, arena_key=arena.key, solvers=example
        )
        worker = Worker(settings)
        name = example.partition("=")[0]
        ledger = worker.pool.ledger
        request = RunRequest(seed=7, solver=name, attempts=1)
        request_id = ledger.request(request)
        platform = worker.platform("arena")
        run = platform.open(request, platform.prepare(request), request_id)
        assert ledger.opened(request_id, run, request)
        for task in run.tasks:
            solve_one(worker, run, task.task_id, name)
        finish_one(worker, run)
        state = state_of(worker.pool, run)
        assert (state.status, state.submitted, state.failures) == (RunStatus.FINISHED, 30, {})
        solutions = [state.solution for state in ledger.tasks(run.ref) if state.solution]
        assert {solution.outcome for solution in solutions} == {"OK", "NEEDS_CLARIFICATION"}
        assert all(solution.sources for solution in solutions if solution.outcome == "OK")
        worker.close()
