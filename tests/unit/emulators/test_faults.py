import json

import pytest

from emulators.faults import FaultFile, FaultPlan
from shared.errors import SettingsError


def plan(*rules, seed=0):
    return FaultPlan(FaultFile.model_validate({"seed": seed, "rules": rules}))


def struck(faults, requests):
    return [faults.strike(method, path, "team-1") is not None for method, path in requests]


@pytest.mark.parametrize(
    ("endpoint", "method", "path", "hit"),
    [
        ("POST /runs/*/tasks/*/submit", "POST", "/api/v1/runs/r1/tasks/t01/submit", True),
        ("POST /runs/*/tasks/*/submit", "GET", "/api/v1/runs/r1/tasks/t01/submit", False),
        ("POST /runs/*/submit", "POST", "/api/v1/runs/r1/tasks/t01/submit", False),
        ("POST /runs/**/submit", "POST", "/api/v1/runs/r1/tasks/t01/submit", True),
        ("* /runs", "GET", "/api/v1/runs", True),
        ("* /runs", "GET", "/api/v1/runs/r1", False),
        ("* /**", "DELETE", "/x", True),
        ("GET /a.b", "GET", "/axb", False),
    ],
)
def test_an_endpoint_matches_method_and_end_of_path(endpoint, method, path, hit):
    faults = plan({"endpoint": endpoint, "fault": "drop"})
    assert struck(faults, [(method, path)]) == [hit]


@pytest.mark.parametrize(
    ("occasion", "hits"),
    [
        ({}, [1, 2, 3, 4, 5, 6]),
        ({"nth": 2}, [2]),
        ({"nth": [1, 4]}, [1, 4]),
        ({"first": 3}, [1, 2, 3]),
        ({"every": 2}, [2, 4, 6]),
        ({"probability": 0}, []),
        ({"probability": 1}, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_an_occasion_is_a_number_a_rhythm_or_a_chance(occasion, hits):
    faults = plan({"endpoint": "GET /a", "fault": "drop", **occasion})
    found = struck(faults, [("GET", "/a")] * 6)
    assert [number for number, hit in enumerate(found, start=1) if hit] == hits


def test_requests_that_do_not_match_are_not_counted():
    faults = plan({"endpoint": "GET /a", "nth": 2, "fault": "drop"})
    assert struck(faults, [("GET", "/a"), ("GET", "/b"), ("GET", "/a")]) == [False, False, True]


def test_a_rule_may_count_each_path_apart():
    faults = plan({"endpoint": "GET /*", "first": 1, "per": "path", "fault": "drop"})
    requests = [("GET", "/a"), ("GET", "/a"), ("GET", "/b"), ("GET", "/b")]
    assert struck(faults, requests) == [True, False, True, False]


def test_a_rule_may_count_each_account_apart():
    faults = plan({"endpoint": "GET /*", "first": 1, "per": "account", "fault": "drop"})
    accounts = ["team-1", "team-1", "team-2"]
    assert [faults.strike("GET", "/a", name) is not None for name in accounts] == [True, False, True]


def test_the_first_rule_whose_occasion_it_is_strikes_and_all_count():
    faults = plan(
        {"endpoint": "GET /a", "nth": 2, "fault": "drop"},
        {"endpoint": "GET /a", "nth": [2, 3], "fault": "corrupt"},
    )
    found = [faults.strike("GET", "/a", "team-1") for _ in range(3)]
    assert [hit and hit[0].fault for hit in found] == [None, "drop", "corrupt"]


def test_chance_follows_from_the_seed_alone():
    requests = [("GET", "/a")] * 400
    rule = {"endpoint": "GET /a", "probability": 0.25, "fault": "drop"}
    first, again, other = (struck(plan(rule, seed=seed), requests) for seed in (7, 7, 8))
    assert first == again
    assert first != other
    assert 60 < sum(first) < 140


def test_chance_does_not_depend_on_what_else_was_asked():
    rule = {"endpoint": "GET /a", "probability": 0.5, "fault": "drop"}
    alone = struck(plan(rule), [("GET", "/a")] * 50)
    mixed = struck(plan(rule), [("GET", "/a"), ("GET", "/b")] * 50)[::2]
    assert alone == mixed


def test_json_and_toml_say_the_same(tmp_path):
    toml = tmp_path / "faults.toml"
    toml.write_text('seed = 3\n[[rules]]\nendpoint = "GET /a"\nfault = "hang"\nseconds = 2\n')
    plain = tmp_path / "faults.json"
    plain.write_text(
        json.dumps({"seed": 3, "rules": [{"endpoint": "GET /a", "fault": "hang", "seconds": 2}]})
    )
    assert FaultFile.read(toml) == FaultFile.read(plain)


GOOD = 'endpoint = "GET /ok"\nfault = "drop"\n'


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('endpoint = "GET /a"\nfault = "melt"', ["rule 2 (GET /a)", "melt"]),
        ('endpoint = "GET /a"', ["rule 2 (GET /a)", "fault"]),
        ('endpoint = "GET /a"\nfault = "hang"', ["rule 2 (GET /a)", "seconds", "required"]),
        ('endpoint = "GET /a"\nfault = "status"\nstatus = 200', ["rule 2 (GET /a)", "status", "400"]),
        ('endpoint = "GET /a"\nfault = "drop"\nwhen = "later"', ["rule 2 (GET /a)", "when", "before"]),
        ('endpoint = "GET /a"\nfault = "drop"\ncolour = 1', ["rule 2 (GET /a)", "colour"]),
        ('endpoint = "/a"\nfault = "drop"', ["rule 2 (/a)", "endpoint", "method"]),
        ('fault = "drop"', ["rule 2", "endpoint", "required"]),
        ('endpoint = "GET /a"\nfault = "drop"\nnth = 1\nevery = 2', ["rule 2", "nth and every"]),
        ('endpoint = "GET /a"\nfault = "drop"\nnth = 0', ["rule 2", "nth", "1"]),
        ('endpoint = "GET /a"\nfault = "truncate"\nkeep = 1.0', ["rule 2", "keep", "less than 1"]),
    ],
)
def test_a_wrong_rule_is_named_with_its_field(tmp_path, rule, words):
    path = tmp_path / "faults.toml"
    path.write_text(f"[[rules]]\n{GOOD}\n[[rules]]\n{rule}\n")
    with pytest.raises(SettingsError) as caught:
        FaultFile.read(path)
    assert all(word in str(caught.value) for word in ["faults.toml", *words]), str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("f.toml", "rules = [", "f.toml is not .toml"),
        ("f.json", "{", "f.json is not .json"),
        ("f.json", "[1]", "f.json"),
        ("f.json", '{"rule": []}', "rule"),
        ("f.json", '{"rules": [1]}', "rule 1"),
        ("f.json", '{"rules": 1}', "rules"),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SettingsError, match=words):
        FaultFile.read(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"nowhere\.toml: No such file"):
        FaultFile.read(tmp_path / "nowhere.toml")
