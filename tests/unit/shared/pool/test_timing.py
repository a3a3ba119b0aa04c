"""How a run with a deadline spends its time."""

from __future__ import annotations

from shared.models import Task
from shared.pool.timing import ranked, slack, worth


def test_what_is_likely_and_quick_goes_first_and_equals_keep_their_order() -> None:
    levels = [3, 1, None, 2, 1]
    tasks = [Task(run_id="r", task_id=f"t{at}", level=level) for at, level in enumerate(levels)]
    assert ranked(tasks) == ["t1", "t4", "t2", "t3", "t0"]


def test_a_level_that_nobody_knows_counts_as_a_middle_one() -> None:
    assert worth(None) == worth(2) == worth(99)


def test_the_slack_fits_the_time_and_is_none_without_a_deadline() -> None:
    assert [slack(left) for left in (1800.0, 90.0, 0.0, -3.0, None)] == [15.0, 9.0, 0.0, 0.0, 0.0]
