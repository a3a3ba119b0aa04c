"""Builds a scenario: grows the world, renders it, lets the families set tasks, hands each its workspace."""

from __future__ import annotations

import hashlib
import random

from emulators.arena.scenario.compose import compose
from emulators.arena.scenario.families import ALWAYS, SOMETIMES, Family
from emulators.arena.scenario.feed import feed_answers
from emulators.arena.scenario.grow import grow
from emulators.arena.scenario.kit import Draft, Kit
from emulators.arena.scenario.looks import choose_look
from emulators.arena.scenario.model import Scenario, ScenarioTask
from emulators.arena.scenario.streams import stream
from emulators.arena.scenario.theme import Theme
from emulators.arena.scenario.themes import THEMES
from emulators.arena.scenario.view import View
from emulators.arena.scenario.world import DAYS, World
from shared.errors import UsageError

TASKS = 30

_EVERYWHERE = ("agents_md", "definitions", "counting", "procedures", "agents", "incidents", "containment")
_PICTURES = ("queue", "board")
_DISTRACTORS = 0.7
_PICTURED = 0.2
_OTHER_DAY = 0.55


def build(theme: str, seed: int, variation: int) -> Scenario:
    """Build the scenario of these three, the same bytes in every process.

    Args:
        theme: a name of ``themes.THEMES``.
        seed: decides what is true: names, numbers, answers.
        variation: decides how it looks; answers never depend on it.

    Raises:
        UsageError: there is no such theme.
    """
    if theme not in THEMES:
        raise UsageError(f"unknown theme {theme!r}; there are: {', '.join(THEMES)}")
    vocabulary = THEMES[theme]
    world = grow(vocabulary, seed)
    view = compose(vocabulary, world, choose_look(vocabulary, seed, variation), seed, variation)
    shelf = _Shelf()
    tasks = []
    for number, family in enumerate(_chosen(theme, seed), start=1):
        draft = family(_kit(vocabulary, world, view, family, seed, variation))
        rng = stream(theme, seed, variation, "workspace", draft.family)
        tasks.append(_task(f"t{number:02d}", draft, view, shelf, rng))
    texts = {shelf.put(view.files[name][1]): view.image_texts[name] for name in _PICTURES}
    return Scenario(
        theme=theme,
        seed=seed,
        variation=variation,
        blobs={sha256: shelf.blobs[sha256] for task in tasks for sha256 in task.files.values()},
        tasks=tuple(tasks),
        threat_intel=feed_answers(vocabulary, world, seed, variation),
        containment_path=view.look.paths["containment"],
        agents=frozenset(agent.id for agent in world.agents),
        tokens=frozenset(token.id for token in world.tokens),
        mail_domains=(vocabulary.names.mail_domain, vocabulary.names.partner_domain),
        image_texts=texts,
    )


def _chosen(theme: str, seed: int) -> list[Family]:
    """The families of a seed, in the order of its tasks."""
    rng = stream(theme, seed, "tasks")
    chosen = [*ALWAYS, *rng.sample(SOMETIMES, TASKS - len(ALWAYS))]
    rng.shuffle(chosen)
    return chosen


def _kit(theme: Theme, world: World, view: View, family: Family, seed: int, variation: int) -> Kit:
    name = family.__name__
    return Kit(
        family=name,
        theme=theme,
        world=world,
        view=view,
        rng=stream(theme.name, seed, "family", name),
        wording=stream(theme.name, seed, variation, "wording", name),
    )


class _Shelf:
    """Distinct contents by hash."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self._known: dict[int, tuple[bytes, str]] = {}

    def put(self, data: bytes) -> str:
        # Shared files come by as the same object thirty times: hash each once. The object is kept, so that
        # its id stays its own.
        if id(data) not in self._known:
            sha256 = hashlib.sha256(data).hexdigest()
            self._known[id(data)] = (data, sha256)
            self.blobs[sha256] = data
        return self._known[id(data)][1]


def _task(task_id: str, draft: Draft, view: View, shelf: _Shelf, rng: random.Random) -> ScenarioTask:
    files = {path: shelf.put(data) for path, data in sorted(_workspace(draft, view, rng).items())}
    return ScenarioTask(
        task_id=task_id,
        family=draft.family,
        level=draft.level,
        instruction=draft.instruction,
        files=files,
        expected_outcome=draft.outcome,
        expected_answer=draft.answer,
        answer_rule=draft.rule,
        expected_sources=tuple(cited[0] for cited in draft.sources),
        alternatives=tuple(
            tuple(source for source in cited[1:] if source.path in files) for cited in draft.sources
        ),
        constraints=draft.constraints,
        reference=draft.plan,
    )


def _workspace(draft: Draft, view: View, rng: random.Random) -> dict[str, bytes]:
    """What the task rests on, and of everything else a part: each task has its own selection."""
    names = {*_EVERYWHERE, *draft.needs}
    for name in view.files:
        if rng.random() < (_PICTURED if name in _PICTURES else _DISTRACTORS):
            names.add(name)
    workspace = dict(view.files[name] for name in view.files if name in names)
    days = {*draft.days}
    if rng.random() < _OTHER_DAY:
        days.add(rng.randrange(DAYS))
    workspace |= {path: journal.data for day, (path, journal) in enumerate(view.days) if day in days}
    if (draft.archive or rng.random() < 0.2) and view.archive is not None:
        workspace[view.look.paths["archive"]] = view.archive.data
    workspace |= dict(view.stale)
    workspace |= {path: data for path, data in (*view.inbox, *view.asides) if rng.random() < _DISTRACTORS}
    return {**workspace, **draft.own}
