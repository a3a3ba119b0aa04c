"""Runs: started, worked on, ended. All rules of time and of "once" are in here.

Harness Arena Task API v1: "POST /runs", "Run summary", "POST /runs/{run_id}/finish", "Scoring".
"""

from __future__ import annotations

import random
import secrets
import string
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal

from emulators.arena.choices import Choices
from emulators.arena.cost import CostBook
from emulators.arena.options import ArenaOptions
from emulators.arena.scenario import Scenario
from emulators.arena.scenarios import Key, Scenarios
from emulators.arena.teams import Team
from emulators.arena.work import TaskWork
from emulators.clock import Clock
from shared.errors import Refused
from shared.models import Kind

DEV_THEME = "hub"
FINAL_THEME = "harbour"

_MOST_RUNS = 2_000
"""The oldest runs beyond are forgotten."""
_MOST_AWAKE = 24
"""Runs that hold their scenario in memory; the others build it again when they are touched."""
_SMALL_SEED = 2**31 - 1
_ID_LETTERS = string.ascii_letters + string.digits


@dataclass
class Run:
    """One run. Times are seconds since the epoch on the emulator's clock."""

    run_id: str
    team: Team
    kind: Kind
    key: Key
    started_at: float
    deadline_at: float | None
    usage_at_start: float
    works: dict[str, TaskWork] = field(default_factory=dict)
    scenario: Scenario | None = None
    status: Literal["active", "finished", "expired"] = "active"
    finished_at: float | None = None
    accuracy: float | None = None
    cost_usd: float | None = None
    results_open: bool = True
    """Whether scores may be shown: always for dev runs, after publication for final ones."""

    @property
    def active(self) -> bool:
        return self.status == "active"

    def work(self, task_id: str) -> TaskWork:
        """A task of the run.

        Raises:
            Refused: 404, there is none of that id.
        """
        if task_id not in self.works:
            raise Refused(f"unknown task: {task_id[:80]}", status=404)
        return self.works[task_id]

    def demand_active(self) -> None:
        """Raise Refused (409) where the run has ended."""
        if self.status == "finished":
            raise Refused("run already finished", status=409)
        if self.status == "expired":
            raise Refused("the run's deadline has passed", status=409)


class Runs:
    """All runs of all teams."""

    def __init__(self, options: ArenaOptions, clock: Clock, costs: CostBook, scenarios: Scenarios) -> None:
        self._options = options
        self._choices: Choices = options.choices
        self._clock = clock
        self._costs = costs
        self._scenarios = scenarios
        self._random = random.Random(options.seed)  # noqa: S311 - scenarios, no secrets
        self._runs: dict[str, Run] = {}
        self._awake: OrderedDict[str, Run] = OrderedDict()
        self.window = options.final_window(clock.now())

    def window_open(self) -> bool:
        opens, closes = self.window
        return opens is not None and closes is not None and opens <= self._clock.now() < closes

    async def start(self, team: Team, kind: Kind, seed: int | None) -> Run:
        """Start a run.

        Raises:
            Refused: 403 while the final window is closed, 409 where the team's final run is used, 400 for
                a seed that is not taken.
        """
        run_id = "run_" + "".join(secrets.choice(_ID_LETTERS) for _ in range(10))
        if kind is Kind.FINAL:
            if not self.window_open():
                raise Refused("the final window is closed", status=403)
            if team.final_run_id is not None:
                raise Refused("the final run was already used", status=409)
            team.final_run_id = run_id
            key = (FINAL_THEME, self._options.final_seed, self._options.final_variation)
        else:
            key = (DEV_THEME, self._seed(seed), self._random.randrange(1, 10**6))
        try:
            scenario = await self._scenarios.get(key)
        except BaseException:
            if kind is Kind.FINAL:
                team.final_run_id = None
            raise
        now = self._clock.now()
        closes = self.window[1]
        deadline = None
        if kind is Kind.FINAL:
            assert closes is not None
            deadline = min(now + self._options.deadline, closes)
        run = Run(
            run_id=run_id,
            team=team,
            kind=kind,
            key=key,
            started_at=now,
            deadline_at=deadline,
            usage_at_start=self._costs.visible(team.team_id, kind, now),
            works={task.task_id: TaskWork.begin(scenario, task) for task in scenario.tasks},
            scenario=scenario,
            results_open=kind is Kind.DEV,
        )
        self._runs[run_id] = run
        self._touch(run)
        self._forget()
        return run

    def _seed(self, seed: int | None) -> int:
        if seed is None:
            return self._random.randrange(1, 10**6)
        if self._choices.seeds == "refused":
            raise Refused("seed: cannot be chosen", status=400)
        if self._choices.seeds == "small" and not 0 <= seed <= _SMALL_SEED:
            raise Refused(f"seed: must be between 0 and {_SMALL_SEED}", status=400)
        return seed

    def get(self, team: Team, run_id: str) -> Run:
        """A team's run, closed if its time is up.

        Raises:
            Refused: 404, unknown or another team's.
        """
        run = self._runs.get(run_id)
        if run is None or run.team is not team:
            raise Refused(f"unknown run: {run_id[:80]}", status=404)
        self._settle(run)
        return run

    def find(self, run_id: str) -> Run | None:
        """A run of any team."""
        return self._runs.get(run_id)

    def of(self, team: Team) -> list[Run]:
        """A team's runs, oldest first."""
        runs = [run for run in self._runs.values() if run.team is team]
        for run in runs:
            self._settle(run)
        return runs

    def all(self) -> list[Run]:
        """Every team's runs, oldest first."""
        for run in self._runs.values():
            self._settle(run)
        return list(self._runs.values())

    async def scenario(self, run: Run) -> Scenario:
        """The scenario of a run, built again if the run was laid to rest."""
        if run.scenario is None:
            run.scenario = await self._scenarios.get(run.key)
        self._touch(run)
        return run.scenario

    def finish(self, run: Run) -> None:
        """Close a run. A run that has ended stays as it is.

        Raises:
            Refused: 409 on an expired run, where that choice is made.
        """
        if run.active:
            self._end(run, "finished", self._clock.now())
        elif run.status == "expired" and self._choices.finish_on_expired == 409:
            run.demand_active()

    def move_deadline(self, run: Run, seconds: float) -> None:
        """Give a run ``seconds`` from now, whatever its deadline was."""
        run.deadline_at = self._clock.now() + seconds

    def publish(self) -> None:
        """Publish the final runs' results: costs are measured again, scores are shown."""
        for run in self.all():
            if run.kind is Kind.FINAL and not run.active:
                assert run.finished_at is not None
                usage = self._costs.usage(run.team.team_id, run.kind, run.finished_at)
                run.cost_usd = usage - run.usage_at_start
                run.results_open = True

    def _settle(self, run: Run) -> None:
        if run.active and run.deadline_at is not None and self._clock.now() >= run.deadline_at:
            self._end(run, "expired", run.deadline_at)

    def _end(self, run: Run, status: Literal["finished", "expired"], at: float) -> None:
        run.status = status
        run.finished_at = at
        scores = [
            work.submission.grade.score or 0.0 if work.submission else 0.0 for work in run.works.values()
        ]
        run.accuracy = sum(scores) / len(scores)
        run.cost_usd = self._costs.visible(run.team.team_id, run.kind, at) - run.usage_at_start
        for work in run.works.values():
            work.end(keep_files=self._choices.manifests_after_end)
        self._rest(run)

    def _touch(self, run: Run) -> None:
        self._awake[run.run_id] = run
        self._awake.move_to_end(run.run_id)
        while len(self._awake) > _MOST_AWAKE:
            self._rest(next(iter(self._awake.values())))

    def _rest(self, run: Run) -> None:
        self._awake.pop(run.run_id, None)
        run.scenario = None
        for work in run.works.values():
            work.rest()

    def _forget(self) -> None:
        while len(self._runs) > _MOST_RUNS:
            oldest = next((run for run in self._runs.values() if run.kind is Kind.DEV), None)
            if oldest is None:
                return
            self._rest(oldest)
            del self._runs[oldest.run_id]
