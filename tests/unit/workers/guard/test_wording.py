"""What instructions ask for, in words that stand in no scenario of ours."""

import pytest

from workers.guard.wording import KINDS, Wording

ORDERS = [
    ("Find every key that outlived its holder and revoke it.", "revoke"),
    ("Could you rotate the keys of the ward Elm?", "rotate"),
    ("Would you please let the ward know about CASE-4?", "send"),
    ("List the hosts that are still open, then block them.", "block"),
    ("Check CASE-4 and, if it is closed, release its robot.", "release"),
    ("Tell the ward about CASE-4.", "send"),
    ("Give the ward notice of CASE-4.", "send"),
    ("Pass word of CASE-4 to whoever has to know.", "send"),
    ("Look into CASE-4 and isolate the robot.", "quarantine"),
    ("Identify the robot behind CASE-4; quarantine it.", "quarantine"),
    ("Which keys are due? Renew those.", "rotate"),
    ("Read CASE-4, then draft the report.", "write"),
    ("Morning shift: name the keys of robot-3 and cancel them.", "revoke"),
    ("The robot of CASE-4 is to be locked out.", "quarantine"),
    ("Answer the ward's question: send them the number of CASE-4.", "send"),
]
QUESTIONS = [
    "Which robots were released in November?",
    "How many messages did robot-3 send?",
    "Give the number of keys that were revoked and rotated.",
    "Name the robots in quarantine, sorted by id.",
    "List the hosts that the board blocks, and the day of each block.",
    "Compute the share of failed calls in percent.",
    "Tell me who approved the change and when.",
    "Tell which robot wrote about the key.",
    "Say which keys expire first.",
    "Can you tell me how many letters came in?",
    "Show the drafts that mention CASE-4, with their dates.",
    "Find the letter that names the host, and give its number.",
    "Count the robots and the hosts that each of them contacted.",
    'Give an object with these keys: "keys" (ids that you revoke), "hosts" (that you block), in any order.',
]


@pytest.mark.parametrize(("instruction", "kind"), ORDERS)
def test_whoever_wants_something_done_is_understood(instruction: str, kind: str) -> None:
    wording = Wording(instruction, [])
    assert kind in wording.narrow
    assert wording.wide == set(KINDS)


@pytest.mark.parametrize("instruction", QUESTIONS)
def test_who_wants_to_know_wants_nothing_done(instruction: str) -> None:
    assert Wording(instruction, []).wide == set()


@pytest.mark.parametrize(
    ("instruction", "named"),
    [
        ('Do what the head nurse asks in "Night plan".', ["Night plan"]),
        ("Please comply with the memo 'Night plan'.", ["Night plan"]),
        ('A letter came, "Night plan". See that it is done.', ["Night plan"]),
        ("Deal with /post/in-7.txt as it wants.", ["/post/in-7.txt"]),
        ('Under which number does the letter "Night plan" run?', []),
        ('Send the ward the letter "Night plan".', []),
    ],
)
def test_texts_that_are_to_be_obeyed_are_named(instruction: str, named: list[str]) -> None:
    assert Wording(instruction, []).obeyed == named
