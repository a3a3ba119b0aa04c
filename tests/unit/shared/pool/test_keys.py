"""The table of Redis keys is complete."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

from shared.models import RunRef
from shared.pool import keys

REF = RunRef(platform="arena", run_id="run_1")
SAMPLES = {"ref": REF, "task_id": "ID", "sha256": "SHA"}


def table() -> set[str]:
    """The names in the module's table."""
    return set(re.findall(r"^``(\S+)``", keys.__doc__ or "", flags=re.MULTILINE))


def as_in_table(key: str) -> str:
    return key.removeprefix(keys.PREFIX).replace(str(REF), "REF")


def made_by(maker: Callable[..., str]) -> str:
    arguments = inspect.signature(maker).parameters
    return maker(**{name: SAMPLES.get(name, name.upper()) for name in arguments})


def test_every_key_that_can_be_built_is_in_the_table_and_nothing_else() -> None:
    built = {value for name, value in vars(keys).items() if name.isupper() and not name.endswith("PREFIX")}
    for name, maker in inspect.getmembers(keys, inspect.isfunction):
        if maker.__module__ == keys.__name__ and name not in {"ledger", "of_run"}:
            built.add(made_by(maker))
    assert set(map(as_in_table, built)) == table()


def test_what_ends_with_a_run_is_every_key_that_names_it() -> None:
    ends = {as_in_table(key) for key in keys.of_run(REF, ["ID"])}
    assert ends == {name for name in table() if name.startswith("run:REF")}
