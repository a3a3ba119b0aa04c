"""The example of docs/write-a-solver.md plays a run."""

from __future__ import annotations

import re
import sys

import pytest

from emulators.serve import ArenaEmulator
from shared.models import RunRequest, RunStatus
from shared.settings import Settings
from tests.support.playing import finish_one, solve_one, state_of
from tests.support.supervised import ROOT
from workers.worker import Worker

GUIDE = (ROOT / "docs/write-a-solver.md").read_text()


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The first block of Python in the guide, as the module that it says it is."""
    code = re.search(r"```python\n# (\w+)\.py\n(.*?)```", GUIDE, re.DOTALL)
    assert code is not None
    (tmp_path / f"{code[1]}.py").write_text(code[2])
    monkeypatch.syspath_prepend(tmp_path)
    setting = re.search(r"SCRIMMAGE_SOLVERS=(\S+)", GUIDE)
    assert setting is not None
    yield setting[1]
    sys.modules.pop(code[1], None)


def test_the_guide_s_example_plays_a_run(example, redis_url):
    with ArenaEmulator.start(seed=1) as arena:
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
