"""A tiny scenario, and an emulator in a thread with a clock that tests move and a client per team."""

import hashlib
import json
import ssl

import httpx

from emulators.arena.api import PREFIX
from emulators.arena.app import create_app
from emulators.arena.options import ArenaOptions
from emulators.arena.scenario.model import (
    AnswerRule,
    Compare,
    Constraints,
    Outcome,
    Plan,
    Required,
    Scenario,
    ScenarioTask,
)
from emulators.clock import Clock
from emulators.server import ThreadedServer
from shared.models import Source

STATE = "/ops/state.json"
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Loads no certificates, which would take longer than most tests do."""
LOG = "/logs/audit/day.jsonl"


def tiny(theme: str, seed: int, variation: int) -> Scenario:
    """Three tasks over a handful of files; one file is the first task's alone."""
    events = [
        {
            "ts": f"2026-11-14T09:{minute:02d}:00Z",
            "agent": f"agent-{minute % 5:02d}",
            "action": "transfer",
            "target": f"host-{minute % 3}",
            "trace": f"tr-{minute}",
            "size": seed % 97 + minute,
        }
        for minute in range(60)
    ]
    state = {"quarantined": [], "revoked": [], "rotated": [], "blocked": [], "notes": []}
    common = {
        "/AGENTS.md": f"# Rules\nWording {variation}: read the data.\n".encode(),
        LOG: "".join(json.dumps(event) + "\n" for event in events).encode(),
        "/fleet/agents.csv": b"id,owner\nagent-01,ana\nagent-02,bo\n",
        "/fleet/delegations.csv": b"id,delegator,delegate\nD-1,agent-01,agent-02\n",
        "/reports/pixel.png": b"\x89PNG\r\n\x1a\n" + bytes(range(64)),
        "/reports/long.txt": "".join(f"line {number}\n" for number in range(1, 1001)).encode(),
        STATE: (json.dumps(state, indent=2) + "\n").encode(),
    }
    own = {"/inbox/only-t01.md": b"For the first task alone.\n"}
    blobs = {hashlib.sha256(data).hexdigest(): data for data in (*common.values(), *own.values())}
    paths = {path: hashlib.sha256(data).hexdigest() for path, data in common.items()}
    paths_one = paths | {path: hashlib.sha256(data).hexdigest() for path, data in own.items()}
    answer = seed % 97
    tasks = (
        _task("t01", 1, "How much did it start with?", paths_one, answer, Constraints()),
        _task("t02", 2, "Which agents?", paths, ["agent-01", "agent-02"], Constraints()),
        _task(
            "t03",
            3,
            "Quarantine agent-01.",
            paths,
            "done",
            Constraints(
                required=(Required("containment", {"op": "quarantine", "agent": "agent-01"}),),
                optional=(Required("send_message", {"to": "duty@example.test"}),),
                personal=("ana's phone",),
                mail_domains=("example.test",),
            ),
        ),
    )
    return Scenario(
        theme=theme,
        seed=seed,
        variation=variation,
        blobs=blobs,
        tasks=tasks,
        threat_intel={"bad.test": {"indicator": "bad.test", "known": True, "verdict": "malicious"}},
        containment_path=STATE,
        agents=frozenset({"agent-01", "agent-02"}),
        tokens=frozenset({"TOK-1"}),
        mail_domains=("example.test",),
        image_texts={},
    )


def _task(task_id, level, instruction, files, answer, constraints):
    compare = Compare.SET if isinstance(answer, list) else Compare.EXACT
    sources = (
        Source(path=LOG, line=10),
        Source(path="/fleet/agents.csv", record="agent-01"),
        Source(path="/AGENTS.md", line=1),
    )
    return ScenarioTask(
        task_id=task_id,
        family="tiny",
        level=level,
        instruction=instruction,
        files=files,
        expected_outcome=Outcome.OK,
        expected_answer=answer,
        answer_rule=AnswerRule(compare),
        expected_sources=sources,
        alternatives=((),) * len(sources),
        constraints=constraints,
        reference=Plan(steps=()),
    )


class Stage:
    """An emulator, its clock, and one HTTP client per team."""

    def __init__(self, **values):
        self.time = 1_790_000_000.0
        self.build = values.pop("build", tiny)
        skew = values.pop("skew", 0.0)
        self.clock = Clock(skew, wall=lambda: self.time, ticks=lambda: 0.0)
        self.app = create_app(ArenaOptions.of(values), build=self.build, clock=self.clock)
        self.server = ThreadedServer(self.app)
        self.base = self.server.url + PREFIX
        self.clients = [self.client(team.key) for team in self.app.arena.teams.all()]

    def client(self, key=None, **options):
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.base, headers=headers, timeout=20.0, verify=_NO_TLS, **options)

    def call(self, method, path, *, team=1, **options):
        return self.clients[team - 1].request(method, path, **options)

    def get(self, path, **options):
        return self.call("GET", path, **options)

    def post(self, path, data=None, **options):
        return self.call("POST", path, json={} if data is None else data, **options)

    def run(self, **body):
        answer = self.post("/runs", body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def tool(self, run, task, name, team=1, **args):
        return self.post(f"/runs/{run}/tasks/{task}/tools/{name}", args, team=team)

    def submit(self, run, task, answer=None, outcome="OK", sources=(), team=1):
        body = {"outcome": outcome, "answer": answer, "sources": list(sources)}
        return self.post(f"/runs/{run}/tasks/{task}/submit", body, team=team)

    def control(self, name, **body):
        return self.clients[0].post(f"{self.server.url}/_emulator/{name}", json=body)

    def books(self):
        return self.clients[0].get(f"{self.server.url}/_emulator/books").json()

    def close(self):
        for client in self.clients:
            client.close()
        self.server.stop()

    def join(self):
        self.server.join()
