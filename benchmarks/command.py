"""The command line of a benchmark: its help is the module's own text, caveats included."""

from __future__ import annotations

import argparse


def arguments(text: str | None) -> argparse.ArgumentParser:
    """A parser that shows ``text`` as it stands.

    Args:
        text: the module's docstring: what is compared with what, and what the figures do not say.
    """
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
