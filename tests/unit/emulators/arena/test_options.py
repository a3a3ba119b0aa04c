import pytest

from emulators.arena.options import ArenaOptions
from shared.errors import UsageError


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"host": "0.0.0.0"}, "host 0.0.0.0 is reachable from other machines.*--password"),
        ({"host": "::"}, "password"),
        ({"host": "emulator.internal"}, "password"),
        ({"port": 70000}, "port"),
        ({"teams": 0}, "teams"),
        ({"keys": ("secret",)}, "keys.*arena_"),
        ({"keys": ("arena_1234", "arena_1234"), "teams": 2}, "keys must differ"),
        ({"keys": ("arena_1234", "arena_5678")}, "2 keys for 1 teams"),
        ({"window": "9..3"}, "window.*FROM..TO"),
        ({"window": "ajar"}, "window"),
        ({"deadline": 0}, "deadline"),
        ({"cost_floor": 2.0}, "cost_floor must be below cost_cap"),
        ({"colour": 1}, "colour"),
    ],
)
def test_a_wrong_option_is_named(values, words):
    with pytest.raises(UsageError, match=words):
        ArenaOptions.of(values)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.3.2.1"])
def test_this_machine_needs_no_password(host):
    assert ArenaOptions.of({"host": host}).password is None


def test_an_error_does_not_show_the_password():
    with pytest.raises(UsageError) as caught:
        ArenaOptions.of({"password": "hunter2hunter2", "teams": 0})
    assert "hunter2" not in str(caught.value)
