"""How a command ends when it cannot go on: one message on stderr, one JSON object where asked for, one code.

Exit codes: 0 done, 1 the run ended incomplete or something did not answer, 2 usage or settings, 3 the
platform refused, 130 interrupted.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, NoReturn

from producer.cli.output import print_json, say, silence
from producer.interrupt import Interrupted
from shared.errors import NotAuthorised, Refused, ScrimmageError, SettingsError, UsageError

INCOMPLETE, MISUSED, REFUSED, INTERRUPTED = 1, 2, 3, 130


def exit_code(error: ScrimmageError | Interrupted) -> int:
    """The exit code that tells a script what it can do about an error."""
    if isinstance(error, Interrupted):
        return INTERRUPTED
    if isinstance(error, UsageError | SettingsError):
        return MISUSED
    return REFUSED if isinstance(error, Refused) else INCOMPLETE


def message(error: ScrimmageError | Interrupted) -> str:
    if isinstance(error, Interrupted):
        return "interrupted"
    if isinstance(error, NotAuthorised):
        return f"refused: {error}; `scrimmage doctor` shows which key is used, and where it comes from"
    return f"refused: {error}" if isinstance(error, Refused) else str(error)


def fail(error: ScrimmageError | Interrupted, **known: Any) -> NoReturn:
    """Say why the command ends, and end it.

    Args:
        known: what the JSON object tells beside the error: runs that were played, those still in flight.
    """
    fail_with(message(error), type(error).__name__, exit_code(error), **known)


def fail_with(words: str, kind: str, code: int, **known: Any) -> NoReturn:
    with suppress(OSError):  # stderr may be what cannot be written
        say(words, "red")
    tell_scripts(words, kind, code, **known)
    sys.exit(code)


def tell_scripts(words: str, kind: str, code: int, **known: Any) -> None:
    """The JSON object of an end with an error; nothing where ``--json`` was not asked for."""
    if "--json" in sys.argv[1:]:
        try:
            print_json({**known, "error": words, "kind": kind}, code)
        except OSError:  # the words are on stderr, and the code is the one that was due
            silence()
