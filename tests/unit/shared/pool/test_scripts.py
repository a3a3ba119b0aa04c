"""How Lua scripts are read."""

from __future__ import annotations

import pytest

from shared.pool import scripts


def test_an_include_is_filled_in() -> None:
    text = scripts.source("bucket")
    assert "-- include" not in text
    assert "redis.call('TIME')" in text


def test_a_script_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        scripts.source("no-such-script")
