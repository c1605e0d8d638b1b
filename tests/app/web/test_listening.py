"""The sockets on which the product listens."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing

import pytest

from bot.app import web_server
from bot.core.errors import ConfigError
from tests.support.free_ports import free_port

V4, V6 = "127.0.0.1", "::1"


def test_an_answer_in_two_parts_waits_for_no_acknowledgement() -> None:
    """Connections inherit the option; asyncio sets it for sockets of its own making alone."""
    with ExitStack() as stack:
        (listener,) = [stack.enter_context(one) for one in web_server.listen("127.0.0.1", 0)]
        stack.enter_context(socket.create_connection(listener.getsockname()))
        accepted = stack.enter_context(listener.accept()[0])
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("host", "reached"),
    [
        ("::", [V4, V6]),
        ("::1", [V6]),
        ("localhost", [V4, V6]),
        ("0.0.0.0", [V4]),
        ("127.0.0.1", [V4]),
    ],
)
def test_a_host_is_reached_at_each_of_its_addresses(host: str, reached: list[str]) -> None:
    port, answering = int(free_port()), []
    with ExitStack() as stack:
        for listener in web_server.listen(host, port):
            stack.enter_context(listener)
        for address in (V4, V6):
            try:
                socket.create_connection((address, port)).close()
            except ConnectionRefusedError:
                continue
            answering.append(address)
    assert answering == reached


@pytest.mark.parametrize(
    ("family", "taken", "host"),
    [
        (socket.AF_INET, V4, V4),
        (socket.AF_INET, V4, "::"),
        (socket.AF_INET6, V6, V6),
        (socket.AF_INET6, V6, "localhost"),
    ],
)
def test_a_taken_port_is_reported_with_another(family: int, taken: str, host: str) -> None:
    port = int(free_port())
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    with (
        closing(socket.create_server((taken, port), family=family)),
        pytest.raises(ConfigError) as refused,
    ):
        web_server.listen(host, port)
    reason = f"PORT: can't listen on {where} (Address already in use)"
    assert refused.value.problems == (f"{reason}: choose another port, such as PORT=8081",)
