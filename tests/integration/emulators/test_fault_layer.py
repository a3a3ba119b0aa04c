"""Each fault, as a client sees it."""

import json
import socket
import time
from email.utils import parsedate_to_datetime

import httpx
import pytest

ME = "GET /me"
SUBMIT = "POST /runs/*/tasks/*/submit"
BLOB = "GET /runs/*/blobs/*"


@pytest.fixture
def faulty(stage, tmp_path):
    """Makes an emulator in which these rules hold."""

    def make(*rules, **values):
        path = tmp_path / "faults.json"
        path.write_text(json.dumps({"seed": 1, "rules": rules}))
        return stage(faults=path, **values)

    return make


@pytest.fixture(autouse=True)
def _the_server_has_nothing_to_complain_about(capfd):
    yield
    assert capfd.readouterr().err == ""


def blob_of(arena, size=8893):
    run = arena.run()["run_id"]
    blobs = arena.get(f"/runs/{run}/manifest").json()["blobs"]
    return run, next(blob["sha256"] for blob in blobs if blob["size"] == size)


@pytest.mark.parametrize("form", ["seconds", "date", "none"])
def test_too_many_requests_in_every_form(faulty, form):
    arena = faulty({"endpoint": ME, "nth": 2, "fault": "too_many", "retry_after": 7, "form": form})
    answers = [arena.get("/me") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 429, 200]
    after = answers[1].headers.get("retry-after")
    if form == "seconds":
        assert after == "7"
    elif form == "date":
        waits = parsedate_to_datetime(after) - parsedate_to_datetime(answers[1].headers["date"])
        assert waits.total_seconds() == 7
    else:
        assert after is None
    assert set(answers[1].json()) == {"error"}
    page = arena.books()["accounts"]["team-1"]
    assert page["faults"] == {"too_many": 1}
    assert page["early_retries"] == (0 if form == "none" else 1)


@pytest.mark.parametrize(
    ("body", "content_type", "starts"),
    [
        ("json", "application/json", '{"error":'),
        ("html", "text/html; charset=utf-8", "<html"),
        ("empty", "text/plain", ""),
    ],
)
def test_gateways_answer_in_their_own_way(faulty, body, content_type, starts):
    arena = faulty(
        {"endpoint": ME, "first": 1, "fault": "status", "status": 502, "body": body, "retry_after": 3}
    )
    answer = arena.get("/me")
    assert answer.status_code == 502
    assert answer.headers["content-type"] == content_type
    assert answer.headers["retry-after"] == "3"
    assert answer.text.startswith(starts)
    assert bool(answer.text) is bool(starts)
    assert arena.get("/me").status_code == 200


@pytest.mark.parametrize(("when", "again"), [("before", 200), ("after", 409)])
def test_a_500_may_come_before_or_after_the_deed(faulty, when, again):
    arena = faulty({"endpoint": SUBMIT, "first": 1, "fault": "status", "when": when})
    run = arena.run()["run_id"]
    assert arena.submit(run, "t01", 1).status_code == 500
    assert arena.submit(run, "t01", 1).status_code == again


@pytest.mark.parametrize(("when", "again"), [("before", 200), ("after", 409)])
def test_a_dropped_connection_leaves_the_client_in_doubt(faulty, when, again):
    arena = faulty({"endpoint": SUBMIT, "first": 1, "fault": "drop", "when": when})
    run = arena.run()["run_id"]
    with pytest.raises(httpx.TransportError):
        arena.submit(run, "t01", 1)
    assert arena.submit(run, "t01", 1).status_code == again
    page = arena.books()["accounts"]["team-1"]
    assert page["by_status"]["none"] == 1
    assert page["by_endpoint"]["POST /runs/{run_id}/tasks/{task_id}/submit"] == 2


@pytest.mark.parametrize(("when", "submitted"), [("before", False), ("after", True)])
def test_a_hang_outlasts_the_client(faulty, when, submitted):
    arena = faulty({"endpoint": SUBMIT, "first": 1, "fault": "hang", "seconds": 60, "when": when})
    run = arena.run()["run_id"]
    with arena.client("arena_team_1") as hasty:
        body, patience = {"outcome": "OK", "answer": 1}, httpx.Timeout(20, read=0.3)
        with pytest.raises(httpx.ReadTimeout):
            hasty.post(f"/runs/{run}/tasks/t01/submit", json=body, timeout=patience)
    assert arena.get(f"/runs/{run}").json()["tasks"][0]["submitted"] is submitted
    arena.close()
    arena.join()


def test_a_hang_ends(faulty):
    arena = faulty({"endpoint": ME, "fault": "hang", "seconds": 0.2})
    began = time.monotonic()
    assert arena.get("/me").status_code == 200
    assert time.monotonic() - began >= 0.2


def test_a_truncated_body_breaks_the_connection(faulty):
    arena = faulty({"endpoint": BLOB, "first": 1, "fault": "truncate", "keep": 0.5})
    run, sha = blob_of(arena)
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        arena.get(f"/runs/{run}/blobs/{sha}")
    assert len(arena.get(f"/runs/{run}/blobs/{sha}").content) == 8893


def test_a_truncated_body_may_look_whole(faulty):
    arena = faulty({"endpoint": BLOB, "first": 1, "fault": "truncate", "keep": 0.5, "length": "cut"})
    run, sha = blob_of(arena)
    short = arena.get(f"/runs/{run}/blobs/{sha}")
    assert short.status_code == 200
    assert len(short.content) == 8893 // 2
    assert arena.get(f"/runs/{run}/blobs/{sha}").content.startswith(short.content)


def test_a_corrupted_blob_has_its_length_and_wrong_bytes(faulty):
    rule = {"endpoint": BLOB, "nth": [1, 3], "fault": "corrupt", "count": 3}
    arena = faulty(rule)
    run, sha = blob_of(arena)
    first, right, third = (arena.get(f"/runs/{run}/blobs/{sha}").content for _ in range(3))
    differing = [sum(a != b for a, b in zip(wrong, right, strict=True)) for wrong in (first, third)]
    assert differing == [3, 3]
    assert first != third


def test_faults_are_the_same_in_every_process(faulty):
    rule = {"endpoint": BLOB, "probability": 0.5, "fault": "corrupt"}
    seen = []
    for _ in range(2):
        arena = faulty(rule)
        run, sha = blob_of(arena)
        seen.append([arena.get(f"/runs/{run}/blobs/{sha}").content for _ in range(20)])
    assert seen[0] == seen[1]
    assert 2 < len(set(seen[0])) < 20


def test_a_body_may_drip(faulty):
    arena = faulty({"endpoint": BLOB, "fault": "drip", "seconds": 0.3, "pieces": 10})
    run, sha = blob_of(arena)
    began = time.monotonic()
    with arena.clients[0].stream("GET", f"/runs/{run}/blobs/{sha}") as answer:
        pieces = [len(piece) for piece in answer.iter_raw()]
    assert sum(pieces) == 8893
    assert len(pieces) > 3
    assert time.monotonic() - began >= 0.3


def test_the_date_may_be_off(faulty):
    arena = faulty({"endpoint": ME, "nth": 2, "fault": "skew", "seconds": -3600})
    dates = [parsedate_to_datetime(arena.get("/me").headers["date"]).timestamp() for _ in range(3)]
    assert [date - dates[0] for date in dates] == [0, -3600, 0]


def test_a_deadline_may_move(faulty):
    arena = faulty({"endpoint": "GET /runs/*/manifest", "first": 1, "fault": "deadline", "seconds": 60})
    run = arena.run(kind="final")["run_id"]
    before = arena.get(f"/runs/{run}").json()["deadline_at"]
    arena.get(f"/runs/{run}/manifest")
    after = arena.get(f"/runs/{run}").json()["deadline_at"]
    assert after < before
    arena.clock.advance(60)
    assert arena.get(f"/runs/{run}").json()["status"] == "expired"


def test_a_key_may_be_revoked_in_mid_run(faulty):
    arena = faulty({"endpoint": SUBMIT, "nth": 2, "fault": "revoke"}, teams=2)
    run = arena.run()["run_id"]
    assert [arena.submit(run, task, 1).status_code for task in ("t01", "t02", "t03")] == [200, 401, 401]
    assert arena.get("/me", team=2).status_code == 200


def test_control_endpoints_are_spared(faulty):
    arena = faulty({"endpoint": "* /**", "fault": "drop"})
    with pytest.raises(httpx.TransportError):
        arena.get("/me")
    assert arena.books()["accounts"]["team-1"]["faults"] == {"drop": 1}


def test_a_drop_closes_the_tcp_connection_without_a_byte(faulty):
    arena = faulty({"endpoint": ME, "fault": "drop"})
    host, port = arena.server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as raw:
        raw.sendall(b"GET /api/v1/me HTTP/1.1\r\nhost: x\r\nauthorization: Bearer arena_team_1\r\n\r\n")
        try:
            received = raw.recv(1000)
        except ConnectionResetError:
            received = b""
    assert received == b""
