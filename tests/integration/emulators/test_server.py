import socket

from emulators.server import listen, origin


def test_answers_go_out_at_once_and_not_with_the_next_acknowledgement():
    with listen("127.0.0.1", 0) as listening:
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_origin_can_be_reached_from_this_machine():
    with listen("0.0.0.0", 0) as listening:
        assert origin(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"
