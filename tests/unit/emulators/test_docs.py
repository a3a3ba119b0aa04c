"""docs/emulators.md speaks of what there is."""

from dataclasses import fields
from pathlib import Path
from typing import get_args

from emulators.arena.choices import Choices
from emulators.faults import AnyRule, Rule

TEXT = (Path(__file__).parents[3] / "docs" / "emulators.md").read_text("utf-8")


def test_every_choice_is_listed():
    assert [field.name for field in fields(Choices) if f"`{field.name}`" not in TEXT] == []


def test_every_fault_is_listed_with_its_fields():
    rows = {line.split("`")[1]: line for line in TEXT.splitlines() if line.startswith("| `")}
    for rule in get_args(get_args(AnyRule)[0]):
        (name,) = get_args(rule.model_fields["fault"].annotation)
        own = set(rule.model_fields) - set(Rule.model_fields) - {"fault"}
        assert [field for field in own if f"`{field}`" not in rows[name]] == []


def test_every_field_of_a_rule_is_explained():
    assert [name for name in Rule.model_fields if name not in TEXT] == []
