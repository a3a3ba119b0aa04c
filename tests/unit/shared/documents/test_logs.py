"""Logs are found and understood whatever their fields, files and zones are called."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from emulators.arena.scenario import build
from shared.documents.logs import Logbook, open_logs

Event = Mapping[str, Any]


def jsonl(*events: Event | str) -> bytes:
    return "\n".join(event if isinstance(event, str) else json.dumps(event) for event in events).encode()


def logbook(files: Mapping[str, bytes]) -> Logbook:
    return open_logs(files, lambda path: files[path])


def shown(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    return [event.shown() for event in logbook(files).events]


EVENT = {"ts": "2026-11-14T03:22:11Z", "agent": "a-1", "action": "read", "target": "db", "trace_id": "t9"}
FOUND = {"time": "2026-11-14T03:22:11Z", "agent": "a-1", "action": "read", "target": "db", "trace": "t9"}


@pytest.mark.parametrize(
    "event",
    [
        {"ts": "2026-11-14T03:22:11Z", "agent": "a-1", "action": "read", "target": "db", "trace_id": "t9"},
        {"time": "2026-11-14T03:22:11Z", "actor": "a-1", "op": "read", "resource": "db", "correlation": "t9"},
        {"@timestamp": 1794626531, "who": "a-1", "event": "read", "object": "db", "correlation_id": "t9"},
        {"at": "2026-11-14T04:22:11+01:00", "unit": "a-1", "verb": "read", "on": "db", "trace": "t9"},
        {"when": 1794626531000, "actorId": "a-1", "eventType": "read", "targetRef": "db", "traceId": "t9"},
        {
            "meta": {"logged_at": "2026-11-14T03:22:11Z", "trace": {"id": "t9"}},
            "actor": {"id": "a-1", "type": "bot"},
            "event": {"action": "read"},
            "target": {"id": "db", "kind": "store"},
        },
    ],
)
def test_the_fields_of_a_log_are_found_by_their_names(event: Event) -> None:
    (found,) = shown({"/logs/a.jsonl": jsonl(event)})
    assert {name: found[name] for name in FOUND} == FOUND
    assert (found["file"], found["line"]) == ("/logs/a.jsonl", 1)


def test_what_is_not_a_key_of_the_event_is_kept_as_written() -> None:
    event = {**EVENT, "detail": {"bytes": 3, "why": ["x"]}, "ok": True}
    (found,) = shown({"/logs/a.jsonl": jsonl(event)})
    assert found["fields"] == {"detail": {"bytes": 3, "why": ["x"]}, "ok": True}


STRANGE = [
    {"stunde": f"2026-11-14T03:{n:02d}:00Z", "boot": f"TUG-{n % 5:03d}", "tat": "abcde"[n % 5] + "-werk",
     "reise": f"{n * 7919 % 9973:06x}", "stand": ["gut", "schlecht", "halb"][n % 3]}
    for n in range(60)
]  # fmt: skip


def test_fields_with_unknown_names_are_found_by_what_the_operator_files_say_of_them() -> None:
    files = {
        "/AGENTS.md": b"# Rules\nFields are explained in `/rules/words.md`. The log is `/x/a.jsonl`.\n",
        "/rules/words.md": b"| field | meaning |\n|---|---|\n| `boot` | craft that acted |\n"
        b"| `tat` | what was done |\n| `reise` | voyage; tries of the same deed share it |\n",
        "/x/a.jsonl": jsonl(*STRANGE[:3]),  # too few to tell from the values
    }
    found = shown(files)[0]
    assert (found["agent"], found["action"], found["trace"]) == ("TUG-000", "a-werk", "000000")


def test_fields_that_nobody_explains_are_found_by_their_values() -> None:
    found = shown({"/logs/a.jsonl": jsonl(*STRANGE)})[1]
    assert (found["time"], found["agent"]) == ("2026-11-14T03:01:00Z", "TUG-001")
    assert (found["action"], found["trace"]) == ("b-werk", "001eef")


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        (
            "/exports/messages.jsonl",
            [{"id": 1, "ts": "2026-11-14T03:22:11Z", "user": "P-1", "text": "hi"}] * 3,
        ),
        ("/chat/desk.jsonl", [{"type": "message", "user": "U1", "ts": 1794626531, "thread": "t1"}] * 3),
        ("/fleet/list.jsonl", [{"id": "a-1", "team": "red", "role": "x"}] * 3),
        ("/logs/notes.txt", ["nothing here is an event", "nor here"]),
        ("/logs/empty.jsonl", []),
        ("/logs/broken.jsonl", ["{not json", "{nor this"]),
    ],
)
def test_what_is_no_log_is_not_taken_for_one(path: str, lines: Sequence[Event | str]) -> None:
    assert shown({path: jsonl(*lines)}) == []


def test_broken_lines_keep_their_numbers_and_the_others_theirs() -> None:
    files = {"/logs/a.jsonl": jsonl("# audit", EVENT, "{broken", "", EVENT, '{"note": "rotated"}')}
    assert [event["line"] for event in shown(files)] == [2, 5]


def test_what_json_cannot_say_comes_out_as_text() -> None:
    line = (
        '{"ts":"2026-11-14T03:22:11Z","agent":"a\\ud800","action":"read","x":NaN,"y":[1e999],"z":"\\ud83d"}'
    )
    (event,) = shown({"/logs/a.jsonl": line.encode()})
    assert json.loads(json.dumps(event, allow_nan=False)) == event
    assert event["agent"].encode() == "a\ufffd".encode()
    assert event["fields"] == {"x": "nan", "y": ["inf"], "z": "\ufffd"}


LOCAL = {"at": "2026-11-14 05:22:11", "actor": "a-1", "op": "read"}


@pytest.mark.parametrize(
    "files",
    [
        {"/logs/old/a.jsonl": jsonl("# times are local, UTC+02:00", LOCAL)},
        {"/logs/old/a.jsonl": jsonl({"header": {"tz": "+02:00"}}, LOCAL)},
        {"/logs/old/a.jsonl": jsonl({**LOCAL, "tz": "UTC+2"})},
        {"/logs/old/a_utc+2.jsonl": jsonl(LOCAL)},
        {"/logs/old/a-utc-plus-02.jsonl": jsonl(LOCAL)},
        {"/logs/old/a.jsonl": jsonl(LOCAL), "/AGENTS.md": b"- The rotated archive is in local time (UTC+2)."},
        {"/logs/b/a.jsonl": jsonl(LOCAL), "/AGENTS.md": b"- `/logs/b/a.jsonl` is kept in Africa/Cairo time."},
        {
            "/x/a.jsonl": jsonl(LOCAL),
            "/AGENTS.md": b"| audit log before that, in station time | `/x/a.jsonl` |\nSee /terms.md\n",
            "/terms.md": b"- Counts are by UTC day.\n- **D7** Station time is EET (UTC+2), all year.\n",
        },
    ],
)
def test_local_times_become_utc_wherever_their_zone_is_named(files: Mapping[str, bytes]) -> None:
    (event,) = shown(files)
    assert event["time"] == "2026-11-14T03:22:11Z"


def test_a_time_with_its_own_offset_is_not_shifted_again() -> None:
    files = {
        "/logs/archive/a.jsonl": jsonl({**LOCAL, "at": "2026-11-14T05:22:11+02:00"}),
        "/AGENTS.md": b"- The rotated archive is in local time (UTC+9).",
    }
    assert shown(files)[0]["time"] == "2026-11-14T03:22:11Z"


def test_only_operator_files_say_what_local_time_is() -> None:
    files = {
        "/logs/archive/a.jsonl": jsonl(LOCAL),
        "/press/lies.md": b"The rotated archive is in local time (UTC+9).",
        "/AGENTS.md": b"Reports speak of UTC-4. Days are UTC days.\n",
    }
    assert shown(files)[0]["time"] == "2026-11-14T05:22:11Z"


def test_events_of_all_files_come_in_the_order_of_time() -> None:
    late, early = {**EVENT, "ts": "2026-11-15T00:00:00Z"}, {**EVENT, "ts": "2026-11-13T00:00:00Z"}
    files = {"/logs/a.jsonl": jsonl(late, EVENT), "/logs/b.jsonl": jsonl(early, {**EVENT, "ts": None})}
    found = [(event["file"], event["line"]) for event in shown(files)]
    assert found == [("/logs/b.jsonl", 1), ("/logs/a.jsonl", 2), ("/logs/a.jsonl", 1), ("/logs/b.jsonl", 2)]


def test_equal_logs_are_read_once_in_a_process() -> None:
    files = {"/logs/once.jsonl": jsonl(EVENT, EVENT)}
    assert logbook(files) is logbook(dict(files))


@pytest.mark.parametrize("theme", ["hub", "harbour"])
def test_the_logs_of_a_scenario_are_told_and_rotated_events_stand_at_the_same_moment(theme: str) -> None:
    """Rotation copies the archive's last events, in local time, into the first daily file, in UTC."""
    scenario = build(theme, seed=5, variation=6)
    files = {path: scenario.blobs[sha] for task in scenario.tasks for path, sha in task.files.items()}
    book = logbook(files)
    assert {event.path for event in book.events} == {path for path in files if path.endswith(".jsonl")}
    copies: dict[tuple[Any, ...], dict[str, int | None]] = {}
    for event in book.events:
        told = sorted((name, value) for name, value in event.fields().items() if name != "ms")
        copies.setdefault((event.keys, str(told)), {})[event.path] = event.moment
    doubled = [moments for moments in copies.values() if len(moments) > 1]
    assert doubled
    assert all(len(set(moments.values())) == 1 for moments in doubled)
