"""The tasks that the stand-in knows, found by the instruction in a prompt.

Two runs may share an instruction. Then it is the one of which the prompt names the largest part of the files;
one of which it does not name all may be an older one: the arena is asked for newer runs first.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from statistics import mean
from typing import Any

import httpx
import structlog

from emulators.arena.scenario import Scenario
from emulators.arena.scenario.model import ScenarioTask
from emulators.arena.scenarios import Build, Key, Scenarios
from emulators.model.options import ModelOptions

_MOST_SCENARIOS = 16
"""So many of the newest are searched; more are not kept built either."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Known:
    """A task of a scenario."""

    scenario: Scenario
    task: ScenarioTask

    @property
    def name(self) -> str:
        scenario = self.scenario
        return f"{scenario.theme}:{scenario.seed}:{scenario.variation}/{self.task.task_id}"

    def share(self, prompt: str) -> float:
        """The part of the task's files that a prompt names."""
        return mean(path in prompt for path in self.task.files)


class Knowledge:
    """Scenarios given at the start, and those of the arena's runs.

    Args:
        options: say which, and where the arena is.
        build: makes a scenario.
    """

    def __init__(self, options: ModelOptions, build: Build) -> None:
        self._scenarios = Scenarios(build)
        self._keys: dict[Key, None] = {}
        for text in options.scenarios:
            theme, seed, variation = text.split(":")
            self._keys[theme, int(seed), int(variation)] = None
        self._arena: httpx.AsyncClient | None = None
        if options.arena_url:
            origin = str(httpx.URL(options.arena_url).join("/"))
            password = options.arena_password
            self._arena = httpx.AsyncClient(
                base_url=origin, headers={"authorization": f"Bearer {password}"} if password else {}
            )
        self._asking = asyncio.Lock()

    async def find(self, prompt: str) -> Known | None:
        """The task whose instruction stands in the prompt; None where it is none that we know."""
        found = await self._find(prompt)
        if (found is None or found.share(prompt) < 1) and await self._learn():
            found = await self._find(prompt)
        return found

    async def image_text(self, sha256: str) -> str | None:
        """What is written in an image of a scenario that we know."""
        await self._learn()
        for scenario in await self._all():
            if sha256 in scenario.image_texts:
                return scenario.image_texts[sha256]
        return None

    async def tell_spent(self, team: str, kind: str, usd: float) -> None:
        """Tell the arena, if there is one, what a key has spent."""
        if self._arena is not None:
            body = {"team": team, "kind": kind, "usd": usd}
            await self._call("POST", "/_emulator/spend", body)

    async def _all(self) -> list[Scenario]:
        """The newest scenarios, newest first."""
        newest = list(self._keys)[: -_MOST_SCENARIOS - 1 : -1]
        return [await self._scenarios.get(key) for key in newest]

    async def _find(self, prompt: str) -> Known | None:
        candidates = [
            Known(scenario, task)
            for scenario in await self._all()
            for task in scenario.tasks
            if task.instruction in prompt
        ]
        longest = max((len(known.task.instruction) for known in candidates), default=0)
        candidates = [known for known in candidates if len(known.task.instruction) == longest]
        if len(candidates) < 2:
            return candidates[0] if candidates else None
        return max(candidates, key=lambda known: known.share(prompt))

    async def _learn(self) -> bool:
        """Ask the arena for its runs' scenarios. True where there was a new one."""
        if self._arena is None:
            return False
        async with self._asking:
            answer = await self._call("GET", "/_emulator/scenarios")
            before = len(self._keys)
            for row in answer.get("scenarios", []):
                self._keys.setdefault((row["theme"], row["seed"], row["variation"]))
            return len(self._keys) > before

    async def _call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        assert self._arena is not None
        try:
            answer = await self._arena.request(method, path, json=body)
            answer.raise_for_status()
        except httpx.HTTPError as error:
            log.warning("arena_away", path=path, reason=str(error))
            return {}
        data: dict[str, Any] = answer.json()
        return data
