"""The words as types: what they refuse."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from shared.models import RunRef, Solution, plain


@pytest.mark.parametrize(
    "text",
    ["arena", "arena:", ":run", "arena:../x", "arena:run\n", "arena:a b", "a|b:c", "arena:" + "x" * 200],
)
def test_a_run_is_named_by_two_plain_names_alone(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected platform:run_id|not usable as an id"):
        RunRef.parse(text)


def test_a_run_reads_back_as_it_is_written() -> None:
    assert str(RunRef.parse("arena:run_x1Y2z3")) == "arena:run_x1Y2z3"


@pytest.mark.parametrize("answer", ["half a pair \ud800", {"key \udfff": 1}, [["\ud800"]]])
def test_an_answer_that_cannot_be_written_is_refused_at_once(answer: object) -> None:
    with pytest.raises(ValidationError):
        Solution.model_validate({"answer": answer})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", object()])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not "):
        plain(value)
