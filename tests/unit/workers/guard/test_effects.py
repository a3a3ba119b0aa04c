"""The guard's built-in rules."""

import pytest

from shared.models import Effect
from workers.guard import Guard, HardRules

INSIDE = HardRules(mail_domains=frozenset({"inside.test"}))


def mail(to, body="The figures are ready.", subject="Report"):
    return Effect(tool="send_message", args={"to": to, "subject": subject, "body": body})


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/drafts", "drafts/a.md", "/drafts/../logs/a", "/drafts//a", "/drafts/./a", "", 7]
)
def test_files_are_written_under_drafts_alone(path):
    verdict = Guard().check(Effect(tool="write", args={"path": path, "content": "x"}))
    assert not verdict.allowed
    assert verdict.rule == "write-only-under-drafts"


def test_a_draft_may_be_written():
    assert Guard().check(Effect(tool="write", args={"path": "/drafts/a/b.md", "content": "x"})).allowed


def test_mail_leaves_only_for_the_domains_of_the_operator():
    guard = Guard(lambda: INSIDE)
    assert guard.check(mail("ana@inside.test")).allowed
    assert guard.check(mail("ana@lab.inside.test")).allowed
    for outside in ("ana@outside.test", "ana@inside.test.evil.test", ["ana@inside.test", "b@outside.test"]):
        verdict = guard.check(mail(outside))
        assert not verdict.allowed
        assert verdict.rule == "recipient-domain"


@pytest.mark.parametrize(
    "to",
    [
        "everyone",
        "eve@localhost",
        "ana@inside.test, eve@mäiler.test",
        "ana@inside.testä.test",
        "ana@inside.test; eve@[192.0.2.1]",
        "eve@outside.test@inside.test",
    ],
)
def test_a_message_leaves_only_for_addresses_that_are_understood(to):
    assert Guard(lambda: INSIDE).check(mail(to)).rule == "recipient-is-an-address"


@pytest.mark.parametrize(
    "to", ["Ana <ana@inside.test>", "ana@inside.test; bo@inside.test", "(ana@inside.test)"]
)
def test_addresses_may_be_written_as_people_write_them(to):
    assert Guard(lambda: INSIDE).check(mail(to)).allowed


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        ({"to": "ana@outside.test", "body": "x", "path": "/drafts/a.md"}, "recipient-domain"),
        ({"to": "ana@inside.test", "cc": "b@outside.test", "body": "x"}, "recipient-domain"),
        ({"to": "ana@inside.test", "bcc": ["b@outside.test"], "body": "x"}, "recipient-domain"),
        ({"recipient": "ana@outside.test", "body": "x"}, "recipient-domain"),
        ({"body": "x"}, "recipient-is-an-address"),
        ({"to": "ana@inside.test", "body": "x", "path": "/AGENTS.md"}, "write-only-under-drafts"),
    ],
)
def test_no_other_argument_hides_a_recipient_or_a_path(args, rule):
    verdict = Guard(lambda: INSIDE).check(Effect(tool="send_message", args=args))
    assert (verdict.allowed, verdict.rule) == (False, rule)


def test_a_tool_of_another_name_is_known_by_what_it_is_given():
    relay = Effect(tool="relay", args={"whom": "ana@outside.test", "text": "x"})
    assert Guard(lambda: INSIDE).check(relay).rule == "recipient-domain"
    assert Guard().check(Effect(tool="save", args={"file": "/etc/a"})).rule == "write-only-under-drafts"
    assert Guard().check(Effect(tool="save", args={"file": "/drafts/a"})).allowed


@pytest.mark.parametrize(
    "text",
    [
        "Call her: +49 170 555 12 34.",
        "Write to ana.private@home.test instead.",
        "IBAN DE89 3704 0044 0532 0130 00",
        "date of birth: 1990-01-02",
        "card 4111 1111 1111 1111",
    ],
)
def test_personal_data_does_not_leave_for_where_nobody_vouches(text):
    guard = Guard(HardRules)
    assert guard.check(mail("press@outside.test", body=text)).rule == "personal-data-stays"
    assert guard.check(mail("press@outside.test", subject=text)).rule == "personal-data-stays"
    assert Guard(lambda: INSIDE).check(mail("ana@inside.test", body=text)).allowed


def test_where_the_operator_says_so_personal_data_stays_whoever_wants_it():
    guard = Guard(lambda: HardRules(mail_domains=frozenset({"inside.test"}), personal_stays=True))
    text = "Call her: +49 170 555 12 34."
    assert guard.check(mail("ana@inside.test", body=text)).rule == "personal-data-stays"
    draft = Effect(tool="write", args={"path": "/drafts/a.md", "content": "bo.private@home.test"})
    assert guard.check(draft).rule == "personal-data-stays"
    assert guard.check(mail("ana@inside.test", body="Ask team@inside.test.")).allowed


def test_plain_figures_are_no_personal_data():
    text = "On 2026-11-14 agent-03 moved 1,234 records (TOK-AB-12) to example-a.test at 09:15:00Z."
    assert Guard(HardRules).check(mail("press@outside.test", body=text)).allowed


def test_operator_files_are_read_once():
    asked = []
    guard = Guard(lambda: asked.append(1) or INSIDE)
    assert asked == []
    guard.check(mail("a@inside.test"))
    guard.check(mail("b@inside.test"))
    assert asked == [1]
