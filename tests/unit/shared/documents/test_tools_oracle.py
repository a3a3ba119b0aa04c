"""Hundreds of generated calls, each answered twice: by the tools and by a naive oracle that shares no code.

The oracle knows the world from which the files were written (it never reads a log back), filters by plain
loops, and finds chains by trying every one.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise, permutations
from typing import Any

import pytest

from shared.documents.tools import ReadOnlyTools

WORLDS, CALLS = 6, 30
NAMINGS = [
    ("ts", "agent", "action", "target", "trace_id"),
    ("time", "actor", "op", "resource", "correlation_id"),
    ("when", "unit", "verb", "object", "trace"),
    ("@timestamp", "who", "event", "asset", "session"),
]
ACTIONS = ["read", "write", "token.rotate", "data.export"]


@dataclass(frozen=True)
class Happening:
    path: str
    line: int
    when: datetime
    agent: str
    action: str
    targets: list[str]
    trace: str
    text: str


class World:
    """Files and what is true of them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.files: dict[str, bytes] = {
            "/AGENTS.md": b"- The rotated archive is in local time (UTC+05:30).\n"
        }
        self.happenings: list[Happening] = []
        naming = NAMINGS[seed % len(NAMINGS)]
        for day in range(3):
            self._log(f"/logs/audit/2026-11-{14 + day}.jsonl", day, naming, UTC)
        self._log("/logs/archive/rotated.jsonl", -2, naming, timezone(timedelta(hours=5, minutes=30)))
        self.agents = [f"n{n}" for n in range(7)]
        pairs = list(permutations(self.agents, 2))
        self.edges = set(self.chance.sample(pairs, 10))
        rows = [f"D{n},{giver},{taker}" for n, (giver, taker) in enumerate(sorted(self.edges))]
        self.chance.shuffle(rows)
        self.files["/registry/delegations.csv"] = ("id,from,to\n" + "\n".join(rows) + "\n").encode()
        self.files["/registry/agents.csv"] = ("id\n" + "\n".join(self.agents) + "\n").encode()
        self.lines = {
            f"/docs/{n}.md": [self._words() for _ in range(self.chance.choice([0, 3, 500]))] for n in range(4)
        }
        for path, lines in self.lines.items():
            ending = self.chance.choice(["\n", "\r\n"])
            self.files[path] = "".join(line + ending for line in lines).encode()

    def _words(self) -> str:
        return " ".join(self.chance.choice(["Red", "blue", "agent-1", "x.y", "(a)", "Ü"]) for _ in range(4))

    def _log(self, path: str, day: int, naming: tuple[str, ...], zone: timezone) -> None:
        chance = self.chance
        written: list[str] = []
        for _ in range(40):
            if chance.random() < 0.05:
                written.append("{broken")
            when = datetime(2026, 11, 14, tzinfo=UTC) + timedelta(days=day, seconds=chance.randrange(86400))
            targets = chance.sample(["db", "fs", "net"], chance.choice([1, 1, 1, 2]))
            agent, action, trace = (
                f"agent-{chance.randrange(4)}",
                chance.choice(ACTIONS),
                f"t{chance.randrange(9)}",
            )
            local = when.astimezone(zone).replace(tzinfo=None).isoformat()
            values = [
                local + "Z" if zone is UTC else local,
                agent, action, targets if len(targets) > 1 else targets[0], trace,
            ]  # fmt: skip
            text = json.dumps({**dict(zip(naming, values, strict=True)), "note": self._words()})
            written.append(text)
            self.happenings.append(Happening(path, len(written), when, agent, action, targets, trace, text))
        self.files[path] = ("\n".join(written) + "\n").encode()


def ask_logs(world: World) -> dict[str, Any]:
    chance = world.chance
    some = chance.choice(world.happenings)
    edge = (some.when + timedelta(seconds=chance.choice([-1, 0, 0, 1]))).isoformat().replace("+00:00", "Z")
    choices: dict[str, Any] = {
        "agent": chance.choice([some.agent, some.agent.upper(), "agent"]),
        "action": some.action,
        "target": chance.choice(some.targets),
        "trace": some.trace,
        "text": chance.choice([some.agent, "BLUE", "ü", "nothing"]),
        "since": edge,
        "until": edge,
    }
    chosen = chance.sample(sorted(choices), chance.choice([0, 1, 1, 2, 3]))
    paging = {"limit": chance.choice([1, 7, 200]), "offset": chance.choice([0, 0, 3])}
    return {name: choices[name] for name in chosen} | paging


def oracle_logs(world: World, args: dict[str, Any]) -> tuple[int, list[tuple[str, int, str]]]:
    kept = []
    for item in world.happenings:
        moment = item.when.strftime("%Y-%m-%dT%H:%M:%SZ")
        wanted = [
            args.get("agent", item.agent).lower() == item.agent,
            args.get("action", item.action) == item.action,
            args.get("target", item.targets[0]) in item.targets,
            args.get("trace", item.trace) == item.trace,
            args.get("text", "").lower() in item.text.lower(),
            args.get("since", "") <= moment <= args.get("until", "9"),
        ]
        if all(wanted):
            kept.append((moment, item.path, item.line))
    kept.sort()
    page = kept[args["offset"] : args["offset"] + args["limit"]]
    return len(kept), [(path, line, moment) for moment, path, line in page]


def oracle_chain(world: World, args: dict[str, Any]) -> list[str] | None:
    edges = (world.edges | {tuple(pair) for pair in args["added"]}) - {
        tuple(pair) for pair in args["removed"]
    }
    barred = set(args["exclude"])
    start, goal = args["from"], args["to"]
    if start == goal:
        return None if start in barred else [start]
    for length in range(len(world.agents)):
        for between in sorted(permutations(sorted(set(world.agents) - {start, goal}), length)):
            path = [start, *between, goal]
            if not barred & set(path) and all(pair in edges for pair in pairwise(path)):
                return path
    return None


@pytest.mark.parametrize("seed", range(WORLDS))
def test_query_logs_agrees_with_the_oracle(seed: int) -> None:
    world = World(seed)
    tools = ReadOnlyTools(world.files)
    for _ in range(CALLS):
        args = ask_logs(world)
        result = tools.call("query_logs", args)
        found = [(event["file"], event["line"], event["time"]) for event in result["events"]]
        assert (result["total"], found) == oracle_logs(world, args), args


@pytest.mark.parametrize("seed", range(WORLDS))
def test_access_path_agrees_with_the_oracle(seed: int) -> None:
    world = World(seed)
    tools, chance = ReadOnlyTools(world.files), world.chance
    pairs = list(permutations(world.agents, 2))
    for _ in range(CALLS):
        args: dict[str, Any] = {
            "from": chance.choice(world.agents),
            "to": chance.choice(world.agents),
            "added": [list(pair) for pair in chance.sample(pairs, chance.choice([0, 0, 2]))],
            "removed": [list(pair) for pair in chance.sample(sorted(world.edges), chance.choice([0, 0, 2]))],
            "exclude": chance.sample(world.agents, chance.choice([0, 0, 1])),
        }
        assert tools.call("access_path", args)["path"] == oracle_chain(world, args), args


@pytest.mark.parametrize("seed", range(WORLDS))
def test_read_agrees_with_the_oracle(seed: int) -> None:
    world = World(seed)
    tools, chance = ReadOnlyTools(world.files), world.chance
    for _ in range(CALLS):
        path = chance.choice([path for path, lines in world.lines.items() if lines] or ["/AGENTS.md"])
        lines = world.lines.get(path, ["- The rotated archive is in local time (UTC+05:30)."])
        start = chance.randint(1, len(lines))
        end = chance.randint(start, len(lines) + 5)
        result = tools.call("read", {"path": path, "start_line": start, "end_line": end})
        wanted = lines[start - 1 : min(end, start + 399)]
        assert result["text"].split("\n") == wanted
        assert ("truncated" in result) == (min(end, len(lines)) - start + 1 > 400)


@pytest.mark.parametrize("seed", range(WORLDS))
def test_search_agrees_with_the_oracle(seed: int) -> None:
    world = World(seed)
    tools, chance = ReadOnlyTools(world.files), world.chance
    texts = {path: data.decode().replace("\r\n", "\n").split("\n") for path, data in world.files.items()}
    for _ in range(CALLS):
        pattern = chance.choice(["red", "AGENT-1", "x.y", "(A)", "ü", "blue red", "zzz"])
        folder = chance.choice(["/", "/docs", "/logs/archive", "/docs/1.md"])
        limit = chance.choice([1, 20, 200])
        wanted = [
            (path, number)
            for path in sorted(texts)
            if path == folder or path.startswith(folder.rstrip("/") + "/")
            for number, line in enumerate(texts[path], start=1)
            if pattern.lower() in line.lower()
        ]
        result = tools.call("search", {"pattern": pattern, "path": folder, "limit": limit})
        assert [(hit["path"], hit["line"]) for hit in result["hits"]] == wanted[:limit]
        assert (result["total"], result["truncated"]) == (len(wanted), len(wanted) > limit)


@pytest.mark.parametrize("seed", range(WORLDS))
def test_tree_and_list_agree_with_the_oracle(seed: int) -> None:
    world = World(seed)
    tools = ReadOnlyTools(world.files)
    folders = {path[:end] or "/" for path in world.files for end, char in enumerate(path) if char == "/"}
    for folder in sorted(folders):
        prefix = folder.rstrip("/") + "/"
        below = {
            path for path in [*world.files, *folders] if path.startswith(prefix) and path not in {"/", folder}
        }
        assert {entry["path"] for entry in tools.call("tree", {"path": folder})["entries"]} == below
        children = {path for path in below if "/" not in path[len(prefix) :]}
        assert {entry["path"] for entry in tools.call("list", {"path": folder})["entries"]} == children
