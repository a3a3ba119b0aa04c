"""Where the command begins: signals are ours before the half second of imports."""

from __future__ import annotations

import sys

from producer.interrupt import Interrupted, raise_on_signals


def run() -> None:
    """Run `scrimmage`. Ctrl-C ends it in good order from here on."""
    raise_on_signals()
    try:
        from producer.cli.main import run as command
    except Interrupted:
        if "--json" in sys.argv[1:]:  # what `ending` would say, which may not be there yet
            sys.stdout.write('{"error": "interrupted", "kind": "Interrupted", "exit_code": 130}\n')
        sys.exit(130)
    command()
