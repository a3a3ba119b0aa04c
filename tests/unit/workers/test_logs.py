"""No key leaves through a log."""

import io
import json
import logging

import pytest
import structlog

from shared.settings import Settings
from workers import logs

SECRET = "arena_MARKEDKEY12345"


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setenv("SCRIMMAGE_MODEL_KEY", "plainlookingsecret")
    monkeypatch.setenv("SCRIMMAGE_ARENA_KEY", SECRET)
    monkeypatch.setenv("SCRIMMAGE_REDIS_URL", "redis://user:hunter2hunter2@localhost:1/0")
    return Settings.load(_env_file=None)


def test_keys_of_the_settings_are_masked_wherever_they_stand(settings):
    mask = logs.Mask.of(settings)
    text = "got plainlookingsecret from redis://user:hunter2hunter2@localhost and " + SECRET
    assert mask.text(text) == "got *** from redis://user:***@localhost and ***"
    assert mask.value({"a": [SECRET, 1, None], SECRET: ("plainlookingsecret",)}) == {
        "a": ["***", 1, None],
        "***": ["***"],
    }


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("redis://:one%40pass@host:1/0", ["one%40pass", "one@pass"]),
        ("rediss://host/0?password=inquery&ssl_ca_certs=/etc/ca.pem", ["inquery"]),
        ("sentinel://:first1@a:26379/0;sentinel://:second2@b:26379/0", ["first1", "second2"]),
        ("amqp://user:secret99@host//", ["secret99"]),
    ],
)
def test_passwords_in_urls_are_masked_in_each_of_their_forms(url, secrets):
    mask = logs.Mask.of(Settings.load(_env_file=None, broker_url=url))
    for secret in secrets:
        assert mask.text(f"got {secret}.") == "got ***."
        assert secret not in mask.text(url)


def test_only_what_cannot_be_a_mere_word_is_found_in_a_solution(settings):
    mask = logs.Mask(["test", "plainlookingsecret"])
    assert mask.finds('{"answer": "plainlookingsecret"}')
    assert not mask.finds('{"answer": "a test"}')
    assert not logs.Mask([]).finds("arena_0123456789")


@pytest.mark.parametrize(
    "text", ["Authorization: Bearer abc.def-123", "sk-or-v1-0123456789abcdef", "arena_0123456789"]
)
def test_what_looks_like_a_key_is_masked_without_being_known(text):
    assert "***" in logs.Mask([]).text(text)


def test_one_event_is_one_line_of_json_and_masked(settings, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        logs.configure(settings)
        structlog.get_logger("a").warning("it_failed", reason=f"two\nlines with {SECRET}", key=SECRET)
        logging.getLogger("celery.worker").error("lost %s", SECRET)
        try:
            raise RuntimeError(f"no {SECRET}")
        except RuntimeError:
            structlog.get_logger("a").exception("it_raised")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.reset_defaults()
    lines = stream.getvalue().splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["it_failed", "lost ***", "it_raised"]
    assert SECRET not in stream.getvalue()
    assert "Traceback" in events[2]["exception"]


def test_long_text_keeps_its_beginning_and_end():
    text = logs.bounded("a" * 50 + "b" * 50, 20)
    assert text.startswith("a" * 10)
    assert text.endswith("b" * 10)
    assert "80 characters left out" in text
