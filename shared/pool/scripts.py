"""Lua scripts: each lives in a ``.lua`` file beside the module that runs it.

A script's name is its path below ``shared/pool`` without the ending: ``bucket``, ``ledger/lease``. A line
``-- include NAME`` stands for the text of that script.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_INCLUDE = re.compile(r"^-- include (\S+)$", re.MULTILINE)


@cache
def source(name: str) -> str:
    """The text of the script ``name``, includes filled in. Raises FileNotFoundError where there is none."""
    text = resources.files("shared.pool").joinpath(f"{name}.lua").read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda line: source(line[1]).rstrip("\n"), text)
