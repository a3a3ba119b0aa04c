"""Questions that only an image answers."""

# ruff: noqa: S608 - queries of reference plans: data, made of names from this package
from __future__ import annotations

import re

from emulators.arena.scenario.kit import NUMBER, SET, Draft, Kit
from emulators.arena.scenario.model import Plan, Step

_QUEUE = (
    "which {queue} does the screenshot show for {agent}?",
    "read the {queue} of {agent} off the screenshot.",
    "look at the picture of the {queue}: what is the number of {agent}?",
    "how long is the {queue} of {agent} on the screen that was photographed?",
)


def queue(kit: Kit) -> Draft:
    """Level 1: one number in a screenshot."""
    agent = kit.rng.choice(list(kit.world.queues))
    path = kit.path("queue")
    return Draft(
        family="queue",
        level=1,
        instruction=kit.say(_QUEUE, "number", agent=agent),
        answer=kit.world.queues[agent],
        rule=NUMBER,
        sources=[(kit.view.image("queue"),)],
        needs=("queue",),
        plan=Plan(
            (
                Step(
                    "look", {"path": path, "pattern": rf"^{re.escape(agent)} +(\d+)$", "cite": True}, "seen"
                ),
                kit.sql("SELECT CAST({$seen} AS BIGINT)", name="n", shape="value"),
            ),
            "$n",
        ),
    )


_BOARD = (
    "for which {units} does the {board} in the screenshot show another {version} than the {registry}?",
    "compare the picture of the {board} with the {registry}: where does the {version} differ?",
    "the {board} was photographed. List the {units} on it whose {version} is not the one in the {registry}.",
    "which {units} on the photographed {board} disagree with the {registry} about their {version}?",
)


def board(kit: Kit) -> Draft:
    """Level 3: every line of a screenshot against a register."""
    world = kit.world
    wrong = sorted(agent for agent, version in world.board.items() if world.agent(agent).version != version)
    path = kit.path("board")
    line = r"^(\S+ +\d+\.\d+\.\d+)$"
    query = (
        "SELECT a._record, a._path FROM agents a JOIN (SELECT unnest([{$lines}]) AS line) s "
        f"ON a.{kit.column('agents', 'id')} = regexp_extract(line, '^\\S+') "
        f"WHERE a.{kit.column('agents', 'version')} <> regexp_extract(line, '\\S+$')"
    )
    return Draft(
        family="board",
        level=3,
        instruction=kit.say(_BOARD, "set", "ids"),
        answer=[*wrong],
        rule=SET,
        sources=[(kit.view.image("board"),), *kit.cite("agents", *wrong)],
        needs=("board", "agents"),
        plan=Plan(
            (
                Step("look", {"path": path, "pattern": line, "all": True, "cite": True}, "lines"),
                kit.sql(query, "agents", name="wrong", shape="list", cite="all"),
            ),
            "$wrong",
        ),
    )
