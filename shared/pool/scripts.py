"""Lua scripts: each lives in a ``.lua`` file beside the module that runs it.

A script's name is its path below ``shared/pool`` without the ending: ``bucket``, ``ledger/lease``. A line
``-- include NAME`` stands for the text of another script, since Lua in Redis has no modules.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources


@cache
def source(name: str) -> str:
    """The text of the script ``name``, includes resolved. Raises FileNotFoundError where there is none."""
    text = resources.files(__package__).joinpath(f"{name}.lua").read_text(encoding="utf-8")
    return re.sub(r"^-- include (\S+)$", lambda line: source(line[1]), text, flags=re.MULTILINE)
