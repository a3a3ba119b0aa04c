"""How many examples a property test gets: few every day, all with ``--hypothesis-profile thorough``."""

from __future__ import annotations

from hypothesis import settings

_BEFORE = settings()  # in CI Hypothesis derives the examples from the test, so that nothing there is random
settings.register_profile("everyday", _BEFORE, max_examples=40, deadline=None)
settings.register_profile("thorough", _BEFORE, max_examples=100, deadline=None)
settings.load_profile("everyday")


def examples(number: int) -> int:
    """So many in a thorough run; else the part that the profile leaves."""
    return number * settings().max_examples // 100
