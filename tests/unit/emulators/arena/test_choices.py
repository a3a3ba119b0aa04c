from dataclasses import fields

import pytest

from emulators.arena.choices import Choices
from shared.errors import UsageError


def test_choices_are_read_from_texts():
    choices = Choices.parse(
        ["create_status=201", "envelope=data", "extra_fields=true", "unknown_argument=400", "clock_skew=-7.5"]
    )
    assert choices == Choices(
        create_status=201, envelope="data", extra_fields=True, unknown_argument=400, clock_skew=-7.5
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour=red", "NAME among create_status"),
        ("create_status", "NAME=VALUE"),
        ("create_status=204", "create_status=204.*200 or 201"),
        ("runs_page=many", "runs_page=many"),
        ("envelope=", "envelope"),
    ],
)
def test_a_wrong_choice_is_named_with_what_there_is(text, words):
    with pytest.raises(UsageError, match=words):
        Choices.parse([text])


def test_every_choice_is_documented():
    import inspect
    import re

    source = inspect.getsource(Choices)
    for field in fields(Choices):
        assert re.search(rf'    {field.name}: .*\n    """', source), field.name
