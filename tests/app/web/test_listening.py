"""The sockets on which the product listens."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from bot.app import web_server


def test_an_answer_in_two_parts_waits_for_no_acknowledgement() -> None:
    """Connections inherit the option; asyncio sets it for sockets of its own making alone."""
    with ExitStack() as stack:
        (listener,) = [stack.enter_context(one) for one in web_server.listen("127.0.0.1", 0)]
        stack.enter_context(socket.create_connection(listener.getsockname()))
        accepted = stack.enter_context(listener.accept()[0])
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
