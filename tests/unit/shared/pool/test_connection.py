"""What is refused before anything is opened."""

from __future__ import annotations

import pytest

from shared.errors import SettingsError
from shared.pool.connection import address, connect


@pytest.mark.parametrize("url", ["amqp://localhost", "sentinel://localhost", "localhost:6379", ""])
def test_a_url_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="redis:// or rediss://"):
        connect(url)


def test_an_unusable_url_is_refused_without_its_password() -> None:
    with pytest.raises(SettingsError, match="Redis URL") as caught:
        connect("redis://:secret@localhost:many/0")
    assert "secret" not in str(caught.value)


def test_an_address_is_shown_without_user_and_password() -> None:
    assert address("redis://user:secret@example.org:7000/2") == "example.org:7000"
    assert address("rediss://example.org") == "example.org:6379"


def test_time_outs_are_chosen_here_and_not_by_the_library() -> None:
    usual = connect("rediss://example.org").connection_pool.connection_kwargs
    assert (usual["socket_timeout"], usual["protocol"]) == (5.0, 2)
