"""Answers in the form that was asked for."""

import pytest

from shared.errors import ToolError
from workers.solvers.agent.form import shaped
from workers.solvers.agent.plan import Form


@pytest.mark.parametrize(
    ("value", "form", "answer"),
    [
        ("1,234 records", Form(kind="number"), 1234),
        (2.5, Form(kind="number", digits=0), 3),
        (2.5, Form(kind="number", digits=0, rounding="half_even"), 2),
        (2.99, Form(kind="number", digits=1, rounding="down"), 2.9),
        ([7], Form(kind="number"), 7),
        ({"n": 7}, Form(kind="text"), "7"),
        (True, Form(kind="text"), "yes"),
        ("  two\n words ", Form(kind="text"), "two words"),
        ("2026-11-14T03:04:05Z", Form(kind="text", moment="YYYY-MM-DD HH:MM"), "2026-11-14 03:04"),
        ("2026-11-14T03:04:05Z", Form(kind="text", moment="DD/MM/YYYY HH:MM:SS"), "14/11/2026 03:04:05"),
        ("one", Form(kind="list"), ["one"]),
        (None, Form(kind="list"), []),
        ([3, 1, 3], Form(kind="list", order="ascending", distinct=True), [1, 3]),
        (["b", "a"], Form(kind="list", order="kept"), ["b", "a"]),
        ({"n": "4", "x": [2]}, Form(kind="object", keys={"n": Form(kind="number")}), {"n": 4, "x": [2]}),
        ("whatever", Form(kind="none"), None),
        ({"as": "it is"}, None, {"as": "it is"}),
    ],
)
def test_a_value_is_brought_into_the_form(value: object, form: Form | None, answer: object) -> None:
    assert shaped(value, form) == answer  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "form", "what"),
    [
        ("none at all", Form(kind="number"), "form is a number, the value is 'none at all'"),
        ([1, 2], Form(kind="text"), "a list of 2"),
        (None, Form(kind="number"), "nothing"),
        ({"a": 1}, Form(kind="list"), "an object"),
        ([1], Form(kind="object"), "a list of 1"),
        ("yesterday", Form(kind="text", moment="YYYY-MM-DD"), "a moment"),
    ],
)
def test_a_value_that_cannot_be_brought_there_says_what_it_is(value: object, form: Form, what: str) -> None:
    with pytest.raises(ToolError, match=what):
        shaped(value, form)  # type: ignore[arg-type]
