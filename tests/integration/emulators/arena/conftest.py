import pytest

from tests.support.arena import Stage


@pytest.fixture
def stage():
    """Makes emulators; closes them all."""
    made = []

    def make(**values):
        made.append(Stage(**values))
        return made[-1]

    yield make
    for each in made:
        each.close()
