"""The emulator's own description holds, and rubbish gets a documented answer."""

import re
import string

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from emulators.arena.api import PREFIX
from emulators.arena.openapi import OPERATIONS, document
from tests.support.arena import Stage
from tests.support.examples import examples


@pytest.fixture(scope="module")
def arena():
    stage = Stage(limit=False)
    yield stage
    stage.close()
    stage.join()


def test_it_describes_every_endpoint_and_no_other(arena):
    routes = {
        (method, re.sub(r":\w+}", "}", route.path.removeprefix(PREFIX)))
        for route in arena.app.routes
        if route.path.startswith(PREFIX)
        for method in route.methods - {"HEAD"}
    }
    assert routes == set(OPERATIONS)
    served = httpx.get(f"{arena.server.url}/openapi.json").json()
    assert served == document(PREFIX)
    assert {(method.upper(), path) for path, item in served["paths"].items() for method in item} == routes


def test_every_reference_in_it_leads_somewhere():
    described = document(PREFIX)
    refs = set(re.findall(r"'\$ref': '#/components/schemas/(\w+)'", str(described)))
    assert refs
    assert refs <= set(described["components"]["schemas"])


def test_real_answers_have_the_documented_fields_and_no_others(arena):
    dev, final = arena.run()["run_id"], arena.post("/runs", {"kind": "final"}).json()["run_id"]
    seen = set()

    def check(method, template, answer, **ids):
        assert answer.status_code == 200
        operation = OPERATIONS[method, template]
        shapes = []
        for kind in operation.answers:
            adapter = TypeAdapter(kind)
            try:
                shapes.append(adapter.dump_python(adapter.validate_python(answer.json(), strict=True)))
            except ValueError:
                continue
        assert answer.json() in shapes, template
        seen.add((method, template))

    task = "/runs/{run_id}/tasks/{task_id}"
    check("GET", "/me", arena.get("/me"))
    check("GET", "/tools", arena.get("/tools"))
    check("POST", "/runs", arena.post("/runs"))
    for run in (dev, final):
        base = f"/runs/{run}/tasks/t01"
        check("POST", task + "/tools/{tool}", arena.tool(run, "t01", "tree"))
        check("POST", task + "/tools/{tool}", arena.tool(run, "t01", "read"))
        check("GET", task + "/manifest", arena.get(f"{base}/manifest"))
        check("GET", "/runs/{run_id}/manifest", arena.get(f"/runs/{run}/manifest"))
        check("POST", task + "/submit", arena.submit(run, "t01", 1))
        check("GET", "/runs/{run_id}", arena.get(f"/runs/{run}"))
        check("POST", "/runs/{run_id}/finish", arena.post(f"/runs/{run}/finish"))
        check("GET", "/runs/{run_id}", arena.get(f"/runs/{run}"))
    check("GET", "/runs", arena.get("/runs"))
    assert seen == {key for key, operation in OPERATIONS.items() if operation.answers}


text = st.text(st.characters(exclude_categories=()), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
TOOLS = {
    "tree": ["path"],
    "list": ["path"],
    "read": ["path", "start_line", "end_line"],
    "search": ["pattern", "path", "regex", "limit"],
    "query_logs": ["agent", "action", "target", "trace", "text", "since", "until", "limit", "offset"],
    "access_path": ["from", "to", "added", "removed", "granted", "revoked", "exclude"],
    "threat_intel": ["indicator"],
    "get_containment": [],
    "containment": ["ops"],
    "send_message": ["to", "subject", "body"],
    "write": ["path", "content"],
}
LIKELY = st.sampled_from(
    [
        *(
            "/",
            "/AGENTS.md",
            "/reports/long.txt",
            "/reports/pixel.png",
            "/drafts/a.md",
            "agent-01",
            "agent-02",
        ),
        *("2026-11-14", "2026-11-14T09:10:00Z", 1, 0, -1, 10**30, 2.0, True, "(", ".*", "\ud800", "\x00"),
        *([["agent-01", "agent-02"]], [{"op": "quarantine", "agent": "agent-01"}], [{"op": "note"}]),
    ]
)
fuzzed = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])


def body_of(value):
    import json

    return json.dumps(value).encode()


def well_answered(answer, method, template):
    """No 500, a documented status, and a JSON error where it is one."""
    documented = {200, 401, 429, *OPERATIONS[method, template].statuses}
    assert answer.status_code in documented, (answer.status_code, answer.text[:300])
    if answer.status_code >= 400:
        assert list(answer.json()) == ["error"]
    return True


@fuzzed
@given(data=st.data())
def test_any_arguments_of_a_tool_get_an_answer(arena, data):
    run = arena.run(seed=1)["run_id"]
    name = data.draw(st.sampled_from(sorted(TOOLS)))
    values = LIKELY | json_values
    args = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys([*TOOLS[name], "other"], values)))
    path = f"/runs/{run}/tasks/t01"
    answer = arena.call("POST", f"{path}/tools/{name}", content=body_of(args))
    assert well_answered(answer, "POST", "/runs/{run_id}/tasks/{task_id}/tools/{tool}")
    assert arena.get(f"{path}/manifest").status_code == 200
    assert arena.get(f"{path}/workspace.zip").status_code == 200


@fuzzed
@given(
    outcome=st.sampled_from(["OK", "DENIED_SECURITY"]) | json_values,
    answer=json_values,
    sources=json_values
    | st.lists(
        st.fixed_dictionaries(
            {"path": text},
            optional={
                name: st.integers(0, 5) | text | st.none()
                for name in ("line", "page", "record", "sheet", "row")
            },
        ),
        max_size=3,
    ),
)
def test_any_submission_gets_an_answer_and_can_be_shown_again(arena, outcome, answer, sources):
    run = arena.run(seed=1)["run_id"]
    body = body_of({"outcome": outcome, "answer": answer, "sources": sources})
    for task in ("t01", "t02"):
        reply = arena.call("POST", f"/runs/{run}/tasks/{task}/submit", content=body)
        assert well_answered(reply, "POST", "/runs/{run_id}/tasks/{task_id}/submit")
    assert arena.post(f"/runs/{run}/finish").status_code == 200
    assert arena.get(f"/runs/{run}").status_code == 200


@fuzzed
@given(
    operation=st.sampled_from(sorted(OPERATIONS)),
    ids=st.fixed_dictionaries(
        {
            name: st.text(string.printable, min_size=1) | text
            for name in ("run_id", "task_id", "tool", "sha256")
        }
    ),
    path=text,
    query=st.dictionaries(text, text, max_size=3),
    body=st.binary(max_size=200) | json_values.map(body_of),
)
def test_any_request_gets_an_answer(arena, operation, ids, path, query, body):
    method, template = operation
    parts = {**ids, "path": path}
    url = re.sub(r"{(\w+)}", lambda match: quoted(parts[match[1]]), template)
    query_text = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in query.items())
    answer = arena.call(method, f"{url}?{query_text}", content=body)
    assert answer.status_code < 500
    if answer.status_code not in (404, 405):
        assert well_answered(answer, method, template)
    assert arena.get("/me").status_code == 200


def quoted(value):
    return "".join(f"%{byte:02X}" for byte in value.encode("utf-8", "surrogatepass"))
